"""The wait in the server, as a person reads it."""

from __future__ import annotations

import sys

import pytest

from catalog.quantity import Basis
from flows.bench.show_server import show_basis, show_queue_time
from flows.collect.figure import Figure, Unavailable
from flows.console import Console


def figure(**changes: object) -> dict[str, object]:
    usual = {"unit": "s", "basis": Basis.MEASUREMENT, "method": "how it was had", "n": 40}
    return Figure(**{**usual, **changes}).to_json()


@pytest.mark.parametrize(
    ("p95", "words"),
    [
        (figure(value=0.25), "p95 250 ms, n = 40: how it was had"),
        (figure(value=0.25, is_estimate=True), "p95 about 250 ms"),
        (figure(low=0.0, high=0.3), "p95 from 0 s to 300 ms, n = 40"),
        (figure(low=7680.0, high=None), "p95 above 7,680 s"),
        (
            Unavailable(reason="not offered by this version").to_json(),
            "p95 not offered by this",
        ),
        (
            Unavailable(reason="not available: x", series="vllm:wait").to_json(),
            "p95 not available: x (vllm:wait)",
        ),
    ],
)
def test_it_is_a_number_or_limits_or_the_reason_for_neither(p95, words, capsys):
    document = {"server_queue_time_p95": p95, "server_queue_time_mean": figure(value=0.1)}

    show_queue_time(Console(sys.stdout), document)

    said = " ".join(capsys.readouterr().out.split())
    assert words in said
    assert "mean 100 ms" in said


@pytest.mark.parametrize(
    ("basis", "is_stamped"), [(Basis.SIMULATION, True), (Basis.MEASUREMENT, False)]
)
def test_only_what_the_rehearsal_engine_answered_is_stamped_simulation(
    basis, is_stamped, capsys
):
    show_basis(Console(sys.stdout), {"basis": basis.value})

    assert ("SIMULATION" in capsys.readouterr().out) is is_stamped

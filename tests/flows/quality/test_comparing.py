"""Endpoints that have no answers to hold are refused before the prompts."""

from __future__ import annotations

import pytest

from flows.cli import run
from flows.rehearsal import Settings, start


@pytest.fixture
def engine():
    with start(Settings()) as running:
        yield running


@pytest.mark.parametrize("vocabulary", [(), ("--vocabulary", "2048")])
def test_a_rehearsal_engine_has_no_answers_and_is_refused_before_the_prompts(
    engine, capsys, vocabulary
):
    url = f"{engine.url}/v1/completions"

    code = run(
        [
            *("quality", "--endpoint", url, "--reference", url, "--model", "rehearsal"),
            *vocabulary,
        ]
    )

    assert code == 2
    assert f"{url}: it is a rehearsal engine" in capsys.readouterr().err
    engine.stop()
    assert len(engine.truth().requests) <= 1  # of 240 prompts


def test_a_chat_call_is_refused_without_asking_it(capsys):
    url = "http://127.0.0.1:9/v1/chat/completions"  # nothing listens there

    assert run(["quality", "--endpoint", url, "--reference", url, "--model", "m"]) == 2
    assert "continues no given answer" in capsys.readouterr().err

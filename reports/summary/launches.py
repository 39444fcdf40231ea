"""Launches: which came up, how long that took, what they said of themselves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any, Final, Literal

from catalog.quantity import Basis
from reports.gathered import Gathered
from reports.run.number import Number
from reports.run.summary_file import LaunchSummary

State = Literal["ready", "failed", "died"]
_CAME_UP: Final = ("ready", "stopped")
_BROKEN_OFF: Final = ("starting", "given up")  # by us: it says nothing of the candidate


def launch_summaries(run: Gathered, candidate: str) -> tuple[LaunchSummary, ...]:
    """Every launch of a candidate, by replication; replicas of one launch are one.

    One that only repeated a replication at the clocks of production can fail: what was proven
    without it stands.
    """
    records: dict[int, list[Mapping[str, Any]]] = {}
    threats: dict[int, str] = {}
    for line in run.events("launch-failed", candidate=candidate, production=True):
        threats[int(line["replication"])] = (
            f"its launch at production clocks failed: {line.get('why')}"
        )
    for launch in run.launches:
        if launch.candidate != candidate or launch.document.get("state") in _BROKEN_OFF:
            continue
        if launch.is_production:
            continue
        if not launch.is_earlier:
            records.setdefault(launch.replication, []).append(launch.document)
        elif _state(launch.document) != "ready":
            threats[launch.replication] = "an earlier launch of this replication failed"
    failed = _failed(run, candidate)
    came_up = {each.number for each in run.of(candidate)}
    numbers = sorted({*records, *(number for number in failed if number not in came_up)})
    return tuple(
        _launch(number, records.get(number, []), failed.get(number), threats.get(number))
        for number in numbers
    )


def _failed(run: Gathered, candidate: str) -> dict[int, str]:
    """Replications whose launch failed by itself, and why; not those that we broke off."""
    lines = run.events("launch-failed", candidate=candidate)
    return {
        int(line["replication"]): why
        for line in lines
        if line.get("replication") is not None
        and not line.get("production")
        and not (why := str(line.get("why") or "")).startswith("interrupted")
    }


def _launch(
    replication: int,
    documents: list[Mapping[str, Any]],
    failed: str | None,
    threat: str | None,
) -> LaunchSummary:
    states = [_state(document) for document in documents]
    starts_s = [document["start_ns"] / 1e9 for document in documents if "start_ns" in document]
    errors = [str(document["error"]) for document in documents if document.get("error")]
    is_up = bool(states) and all(state == "ready" for state in states)
    return LaunchSummary(
        replication=replication,
        state="ready" if is_up else "died" if "died" in states else "failed",
        start_s=max(starts_s, default=None),
        fingerprint=next(
            (str(d["fingerprint"]) for d in documents if "fingerprint" in d), None
        ),
        differences=tuple(dict.fromkeys(_differences(documents))),
        threats=tuple(dict.fromkeys(_threats(documents, threat))),
        error=None if is_up else next(iter(errors), failed or None),
    )


def _state(document: Mapping[str, Any]) -> State:
    """A server that had ended before it was told to has died."""
    if document.get("state") not in _CAME_UP:
        return "failed"
    stopped = document.get("stopped")
    return "died" if stopped is not None and not stopped.get("signals") else "ready"


def _threats(documents: list[Mapping[str, Any]], threat: str | None) -> Iterator[str]:
    for document in documents:
        yield from (str(each) for each in document.get("threats", ()))
    if threat is not None:
        yield threat


def _differences(documents: list[Mapping[str, Any]]) -> Iterator[str]:
    for document in documents:
        for read in document.get("read_back", ()):
            if read["verdict"] == "differs":
                yield f"{read['variable']}: asked {read['asked']}, seen {read['seen']}"


def first_token(
    run: Gathered, candidate: str, launches: tuple[LaunchSummary, ...], basis: Basis
) -> Number | None:
    """Seconds from asking for one more machine to its first token, the median launch's.

    None where no launch came up. Where acquiring the machine is not on record, the note says
    that its time is missing.
    """
    starts_s = [each.start_s for each in launches if each.start_s is not None]
    if not starts_s:
        return None
    acquired_s = _acquire_s(run, run.plan.candidate(candidate).host)
    return Number(
        value=median(starts_s) + (acquired_s or 0.0),
        unit="s",
        basis=basis,
        method="median over launches, and the time to acquire the machine",
        runs=len(starts_s),
        minimum=min(starts_s) + (acquired_s or 0.0),
        maximum=max(starts_s) + (acquired_s or 0.0),
        note=None if acquired_s is not None else "without the time to acquire a machine",
    )


def _acquire_s(run: Gathered, host: str) -> float | None:
    asked = [line["at"] for line in run.events("acquiring", host=host)]
    given = [line["at"] for line in run.events("acquired", host=host)]
    if not asked or not given:
        return None
    span = dt.datetime.fromisoformat(given[0]) - dt.datetime.fromisoformat(asked[0])
    return max(span.total_seconds(), 0.0)

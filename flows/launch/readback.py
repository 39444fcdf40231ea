"""What the running server says of itself, held against what was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from deploy_templates.plan import LaunchPlan, Reported
from flows.bench.http import Answer
from flows.launch.ask import json_of

Verdict = Literal["match", "differs", "not offered", "recorded"]
Fetch = Callable[[str], Answer | None]
_SERIES: Final = re.compile(r"(?P<name>[^{]+)(?:\{(?P<label>[^}]+)\})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """One variable: what was asked (in the server's words), what is seen, and whether it fits.

    ``recorded`` is kept without a comparison: nothing was asked, or nothing can be compared.
    ``not offered`` says in ``note`` what the server gave instead.
    """

    variable: str
    asked: str | None
    seen: str | None
    verdict: Verdict
    where: str
    note: str = ""


def read_back(
    plan: LaunchPlan, fetch: Fetch, logged: Mapping[str, str]
) -> tuple[ReadBack, ...]:
    """Release and settings as the server reports them.

    ``fetch`` answers a path of the server, each path once; ``logged`` holds values of the log
    by the pattern that found them.
    """
    version = plan.report.version
    readings = (*((version,) if version is not None else ()), *plan.report.settings)
    paths = {reading.path for reading in readings if reading.dialect != "log"}
    pages = {path: fetch(path) for path in sorted(paths)}
    return tuple(_one(reading, pages, logged) for reading in readings)


def _one(
    reading: Reported, pages: Mapping[str, Answer | None], logged: Mapping[str, str]
) -> ReadBack:
    seen, note = _seen(reading, pages, logged)
    where = "log" if reading.dialect == "log" else reading.path
    return ReadBack(
        variable=reading.variable,
        asked=reading.expected,
        seen=seen,
        verdict=_verdict(reading, seen),
        where=f"{where} {reading.key}",
        note=note,
    )


def _verdict(reading: Reported, seen: str | None) -> Verdict:
    if seen is None:
        return "not offered"
    if reading.expected is None or reading.compare == "record":
        return "recorded"
    return "match" if agrees(reading.compare, reading.expected, seen) else "differs"


def agrees(compare: str, asked: str, seen: str) -> bool:
    """Whether what is seen is what was asked; letters' case and a number's spelling aside."""
    asked_number, seen_number = _number(asked), _number(seen)
    if compare == "at_least":
        return (
            asked_number is not None and seen_number is not None and seen_number >= asked_number
        )
    if compare == "starts_with":
        return seen.casefold().startswith(asked.casefold())
    if asked_number is not None and seen_number is not None:
        return asked_number == seen_number
    return asked.casefold() == seen.casefold()


def _seen(
    reading: Reported, pages: Mapping[str, Answer | None], logged: Mapping[str, str]
) -> tuple[str | None, str]:
    """The value as text, or None and why there is none."""
    if reading.dialect == "log":
        found = logged.get(reading.key)
        return found, "" if found is not None else "the log has no such line"
    answer = pages[reading.path]
    if answer is None or answer.status != 200:
        return None, "no answer" if answer is None else f"HTTP {answer.status}"
    if reading.dialect == "json":
        found = _in_json(json_of(answer), reading.key)
    else:
        found = _in_series(answer.text, reading.key)
    return found, "" if found is not None else "not in the answer"


def _in_json(document: Any, key: str) -> str | None:
    for step in key.split("."):
        match document:
            case dict():
                document = document.get(step)
            case list() if step.isdigit() and int(step) < len(document):
                document = document[int(step)]
            case _:
                return None
    return _text(document)


def _in_series(page: str, key: str) -> str | None:
    """A series' value, or the value of one of its labels."""
    from prometheus_client.parser import (  # noqa: PLC0415 - few runtimes report so
        text_string_to_metric_families as families,
    )

    wanted = _SERIES.fullmatch(key)
    if wanted is None:
        return None
    try:
        for family in families(page):
            for sample in family.samples:
                if sample.name == wanted["name"]:
                    label = wanted["label"]
                    return sample.labels.get(label) if label else _text(sample.value)
    except ValueError:
        return None
    return None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

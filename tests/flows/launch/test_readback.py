from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deploy_templates.plan import LaunchPlan, Report, Reported
from flows.bench.http import Answer
from flows.launch.readback import ReadBack, agrees, read_back

PAGES = {
    "/props": {"total_slots": 4, "share": 0.9, "data": [{"n_ctx": 512}], "fine": True},
    "/metrics": '# TYPE kv gauge\nkv{dtype="fp8",engine="0"} 1.0\nblocks 2048.0\n',
}


@pytest.fixture
def one(rehearsal_plan: Callable[..., LaunchPlan]) -> Callable[..., ReadBack]:
    """What is read back of one variable from these pages and this log."""

    def read(logged: dict[str, str] | None = None, **reported: Any) -> ReadBack:
        reading = Reported(variable="it", **{"path": "/props", **reported})
        plan = replace(rehearsal_plan(), report=Report(version=None, settings=(reading,)))
        [found] = read_back(plan, _page, logged or {})
        return found

    return read


def _page(path: str) -> Answer | None:
    if path not in PAGES:
        return None if path == "/silent" else Answer(status=404, body=b"")
    page = PAGES[path]
    text = page if isinstance(page, str) else json.dumps(page)
    return Answer(status=200, body=text.encode())


@pytest.mark.parametrize(
    ("reported", "seen", "verdict"),
    [
        ({"key": "total_slots", "expected": "4"}, "4", "match"),
        ({"key": "total_slots", "expected": "8"}, "4", "differs"),
        ({"key": "share", "expected": "0.90"}, "0.9", "match"),
        ({"key": "data.0.n_ctx", "expected": "512"}, "512", "match"),
        ({"key": "data.1.n_ctx", "expected": "512"}, None, "not offered"),
        ({"key": "data.0.n_ctx.x", "expected": "512"}, None, "not offered"),
        ({"key": "fine", "expected": "True"}, "true", "match"),
        ({"key": "fine", "expected": None}, "true", "recorded"),
        ({"key": "fine", "expected": "no", "compare": "record"}, "true", "recorded"),
        ({"key": "x", "path": "/absent", "expected": "1"}, None, "not offered"),
        ({"key": "x", "path": "/silent", "expected": "1"}, None, "not offered"),
        (
            {
                "key": "kv{dtype}",
                "path": "/metrics",
                "dialect": "prometheus",
                "expected": "FP8",
            },
            "fp8",
            "match",
        ),
        (
            {"key": "blocks", "path": "/metrics", "dialect": "prometheus", "expected": None},
            "2048",
            "recorded",
        ),
        ({"key": "kv", "path": "/props", "dialect": "prometheus"}, None, "not offered"),
        ({"key": "seed=(.*)", "dialect": "log", "path": "", "expected": "7"}, "7", "match"),
        ({"key": "none=(.*)", "dialect": "log", "path": ""}, None, "not offered"),
    ],
)
def test_what_is_seen_is_named_for_what_it_is(
    one: Callable[..., ReadBack], reported: dict[str, Any], seen: str | None, verdict: str
) -> None:
    found = one({"seed=(.*)": "7"}, **reported)

    assert (found.seen, found.verdict) == (seen, verdict)
    assert bool(found.note) == (verdict == "not offered")


def test_a_missing_page_says_how_it_is_missing(one: Callable[..., ReadBack]) -> None:
    assert one(key="x", path="/absent").note == "HTTP 404"
    assert one(key="x", path="/silent").note == "no answer"


@pytest.mark.parametrize(
    ("compare", "asked", "seen", "is_so"),
    [
        ("equal", "512", "512.0", True),
        ("equal", "bfloat16", "BFloat16", True),
        ("equal", "0.9", "0.92", False),
        ("at_least", "512", "768", True),
        ("at_least", "512", "256", False),
        ("at_least", "512", "much", False),
        ("starts_with", "b11434", "B11434-abc", True),
        ("starts_with", "b11434", "b1143", False),
    ],
)
def test_agreement_is_of_numbers_and_words(
    compare: str, asked: str, seen: str, is_so: bool
) -> None:
    assert agrees(compare, asked, seen) is is_so

"""Concluded runs of every kind that a report must be able to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from catalog.quantity import Basis
from reports.conclude import conclude
from reports.manifest import write_manifest
from reports.run.layout import RunFolder
from reports.run.plan_file import DemandFacts, OfflineFacts, PriceFacts, SloFacts
from tests.reports.run.builder import (
    CONTRACT,
    NOW,
    ON_PAPER,
    POINTS,
    POISSON,
    QUICK,
    B,
    C,
    Made,
    build_run,
)

ENDPOINT = Made(
    name="API",
    price=PriceFacts(value=0.6, unit="USD/Mtok", basis=Basis.SPECIFICATION, date="2026-08-01"),
    facts={
        "kind": "endpoint",
        "host_class": "endpoint",
        "device": None,
        "runtime": None,
        "version": None,
        "grade": "uncontrolled",
        "endpoints": ("https://api.example/v1/completions",),
        "fingerprint": None,
    },
)
HOSTILE = "x<b>|`[y](z)`$m^2$&amp;"
KINDS: Mapping[str, Mapping[str, Any]] = {
    "chosen": {},
    "rehearsal": {"rehearsal": True},
    "exploratory": {"exploratory": True, "replications": 1},
    "none complies": {"made": (Made(name="B", itl_ms=40), Made(name="C", ttft_ms=2000))},
    "failures": {"made": (Made(name="B", failures=0.2), C)},
    "no launch came up": {"made": (Made(name="B", failed_launches=(0, 1, 2)), C)},
    "nothing measured": {"made": ON_PAPER},
    "endpoint": {"made": (B, ENDPOINT)},
    "no price": {"made": (Made(name="B", price=None), Made(name="C", price=None))},
    "demand": {
        "contract": CONTRACT.model_copy(
            update={"demand": DemandFacts(peak_per_s=4, mean_per_s=1, headroom=0.2, spare=1)}
        ),
        "points": POINTS,
    },
    "offline": {
        "contract": CONTRACT.model_copy(
            update={
                "concurrency": None,
                "slo": SloFacts(),
                "offline": OfflineFacts(tokens_per_hour=1e5),
            }
        ),
        "decision_point": None,
    },
    "rate": {
        "contract": CONTRACT.model_copy(update={"concurrency": None, "rate_per_s": 1.0}),
        "decision_point": "poisson-1",
        "points": (POISSON,),
    },
    "many": {
        "made": tuple(Made(name=f"candidate-{i}-of-many", itl_ms=10 + i) for i in range(9))
    },
    "hostile": {
        "made": (Made(name="B", facts={"host": HOSTILE, "threats": (HOSTILE,)}), C),
        "plan": {"question": HOSTILE, "threats": (HOSTILE,)},
    },
}


def concluded(root: Path, kind: str) -> RunFolder:
    """The directory of a concluded run of that kind, with its manifest."""
    changes = dict(KINDS[kind])
    made = changes.pop("made", (B, C, *ON_PAPER))
    folder = build_run(root, made, **{**QUICK, **changes})
    conclude(folder, now=NOW)
    write_manifest(folder)
    return folder


Concluded = Callable[[str], RunFolder]

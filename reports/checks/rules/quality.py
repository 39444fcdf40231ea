"""Answers are as good as the contract asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports.checks.evidence import Evidence, Seen
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate, whether its answers were held against the reference's."""
    wanted = evidence.files.plan.contract.quality
    for facts, found in evidence.measured():
        verdict, observed = (
            ("not applicable", "the contract asks for no quality")
            if wanted is None
            else _seen(found.quality)
        )
        yield Check(
            id="quality",
            requirement="Answers lose no more against the reference than the contract allows",
            observed=observed,
            needed="measured, and within the contract's loss",
            verdict=verdict,
            candidate=facts.name,
            decisive=True,
            waivable=wanted is None,  # no reason stands in for answers that hold
            evidence=_files(facts.name, found.quality),
        )


def _files(name: str, quality: Mapping[str, Any] | None) -> tuple[str, ...]:
    if quality is None:
        return ()
    return (f"quality/{name}.json", *(f"quality/{each}" for each in quality.get("files", ())))


def _seen(quality: Mapping[str, Any] | None) -> Seen:
    if quality is None:
        return "unknown", "quality not measured"
    verdict = quality.get("verdict")
    words = str(quality.get("why") or verdict)
    if verdict == "holds":
        return "pass", words
    return ("fail" if verdict == "misses" else "unknown"), words

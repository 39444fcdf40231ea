"""Prometheus' text format as samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of a metrics page."""

    name: str
    labels: Mapping[str, str]
    value: float

    @property
    def key(self) -> str:
        """Name and labels, the same whatever their order on the page."""
        labels = ",".join(f"{name}={value}" for name, value in sorted(self.labels.items()))
        return f"{self.name}{{{labels}}}"


def samples_of(text: bytes) -> tuple[Sample, ...] | None:
    """The page's samples that are numbers; None if it is not in this format."""
    from prometheus_client.parser import (  # noqa: PLC0415  (not before the first send)
        text_string_to_metric_families as families,
    )

    try:
        found = [
            Sample(name=sample.name, labels=sample.labels, value=float(sample.value))
            for family in families(text.decode() + "\n")
            for sample in family.samples
        ]
    except ValueError:
        return None
    return tuple(sample for sample in found if not math.isnan(sample.value))


def lines_named(text: bytes, names: Iterable[str]) -> bytes:
    """The lines of samples whose names begin with one of these: cheap, and parsed later."""
    starts = tuple(name.encode() for name in names)
    return b"\n".join(line for line in text.split(b"\n") if line.startswith(starts))

"""A page in Prometheus' text format as our quantities, in our units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Final

from deploy_templates.observables import OBSERVABLES
from deploy_templates.plan import Metrics, Series
from flows.collect.exposition import Sample, samples_of
from flows.collect.histogram import INFINITY, Histogram, histogram_of
from flows.collect.page import STARTED, Page
from flows.collect.reading import Reading

_FOLDS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "sum": sum,
    "max": max,
    "mean": fmean,
}
_ENDS: Final = ("_bucket", "_sum", "_count")


def read_prometheus(page: Page, metrics: Metrics) -> Reading | None:
    """The page's quantities; None if it is not in this format.

    None of them can be negative: engines write -1 for what they do not know.
    """
    samples = samples_of(page.body)
    if samples is None:
        return None
    own = {
        name: [one for one in samples if _belongs(one, series) and one.value >= 0]
        for name, series in metrics.series.items()
    }
    of_kind = {
        kind: {
            name: found for name, found in own.items() if found and _kind(metrics, name) == kind
        }
        for kind in ("gauge", "counter", "histogram")
    }
    counted = [*of_kind["counter"].values(), *of_kind["histogram"].values()]
    counted.append([sample for sample in samples if sample.name == STARTED])
    return Reading(
        asked_ns=page.asked_ns,
        answered_ns=page.answered_ns,
        gauges={name: _gauge(metrics, name, of) for name, of in of_kind["gauge"].items()},
        counters={
            name: sum(sample.value for sample in of) * metrics.series[name].scale
            for name, of in of_kind["counter"].items()
        },
        histograms={
            name: whole.scaled(metrics.series[name].scale)
            for name, of in of_kind["histogram"].items()
            if (whole := _histogram(metrics.series[name].name, of)) is not None
        },
        parts={sample.key: sample.value for of in counted for sample in of},
    )


def _kind(metrics: Metrics, name: str) -> str:
    kind = metrics.series[name].kind
    return "histogram" if kind == "summary" else kind


def _belongs(sample: Sample, series: Series) -> bool:
    names = [series.name]
    if series.kind in ("histogram", "summary"):
        names = [series.name + end for end in _ENDS]
    return sample.name in names and all(
        sample.labels.get(name) == value for name, value in series.labels.items()
    )


def _gauge(metrics: Metrics, name: str, samples: Sequence[Sample]) -> float:
    fold = _FOLDS[OBSERVABLES[name].fold]
    return fold([sample.value for sample in samples]) * metrics.series[name].scale


def _histogram(series: str, samples: Sequence[Sample]) -> Histogram | None:
    """All engines' counts together; a summary is a histogram of one bucket."""
    cumulative: dict[float, float] = {}
    for sample in samples:
        if sample.name == series + "_bucket" and "le" in sample.labels:
            edge = float(sample.labels["le"])
            cumulative[edge] = cumulative.get(edge, 0.0) + sample.value
    if not cumulative:
        counts = [sample.value for sample in samples if sample.name == series + "_count"]
        cumulative = {INFINITY: sum(counts)} if counts else {}
    sums = [sample.value for sample in samples if sample.name == series + "_sum"]
    return histogram_of(cumulative, sum(sums) if sums else None)

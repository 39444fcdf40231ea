"""One server's account of a cell, from its readings and the client's requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from catalog.quantity import Basis
from deploy_templates.observables import OBSERVABLES
from deploy_templates.plan import Series
from flows.collect.account import GaugeFigures, ServerAccount
from flows.collect.client import ClientSide
from flows.collect.figure import NOT_OFFERED, Figure, Found, Unavailable, absent
from flows.collect.gauges import Course, course
from flows.collect.histogram import Histogram
from flows.collect.queue_time import Waits, bracket_figure
from flows.collect.reading import Reading
from flows.collect.shares import completed, shares
from flows.collect.source import Source
from flows.collect.span import UNREAD, Span

NO_METRICS: Final = Unavailable(
    reason="not available: the server shows no metrics that runoff knows"
)
_PERCENTS: Final = (50.0, 95.0, 99.0)
# What every account says something of, be it that the release does not offer it.
_ALWAYS: Final = (
    *("running", "waiting", "kv_use", "queue_time", "preemptions"),
    *("prompt_tokens", "generation_tokens", "requests_finished"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One server of a cell: where its metrics are, what was read, what the client sent it.

    ``source`` None: it has no metrics that we know; ``span`` None: they could not be read
    before or after the cell. ``is_simulation`` is what its answers say of themselves.
    """

    endpoint: str
    source: Source | None
    span: Span | None
    client: ClientSide
    is_simulation: bool = False

    @property
    def series(self) -> Mapping[str, Series]:
        """The release's series by our names."""
        return {} if self.source is None else self.source.metrics.series

    @property
    def basis(self) -> Basis:
        """What this server's numbers are."""
        if self.source is None:
            return Basis.SIMULATION if self.is_simulation else Basis.MEASUREMENT
        return self.source.basis

    @property
    def waiting(self) -> Course | None:
        """The gauge of waiting requests over the measured window."""
        return self._course("waiting")

    def _course(self, name: str) -> Course | None:
        if self.span is None:
            return None
        return course(self.span.readings, partial(_value, name), self.client.window_ns)

    def waits(self) -> Waits:
        """What the server counted of waiting."""
        if self.span is None:
            return Waits(times=None, whole=None, from_idle=False, seconds=None, requests=None)
        in_window = self.span.from_(self.client.window_ns[0])
        started = self.span.gain("requests_started")
        return Waits(
            times=in_window.times("queue_time"),
            whole=self.span.times("queue_time"),
            from_idle=in_window.before.present == 0,
            seconds=self.span.gain("queue_seconds"),
            requests=self.span.gain("requests_finished") if started is None else started,
        )

    def account(self) -> ServerAccount:
        """Everything that this server told, and what it did not."""
        gauges = {
            name: figures
            for name in self._named("gauge")
            if (figures := self._gauge(name)) is not None
        }
        gains = {} if self.span is None else self.span.gains(self._named("counter", "amount"))
        gains = completed(gains)
        counted = {name: self._difference(name, gain) for name, gain in gains.items()}
        told = {name: self._times(name) for name in self._named("histogram", "summary")}
        times = {name: found for name, found in told.items() if found}
        return ServerAccount(
            endpoint=self.endpoint,
            source=self.source,
            readings=0 if self.span is None else len(self.span.readings),
            gauges=gauges,
            counted=counted,
            times=times,
            shares=shares(gains, self.basis),
            missing=self._missing({*gauges, *counted, *times}),
            client=self._client(),
        )

    def _named(self, *kinds: str) -> list[str]:
        return [name for name, series in self.series.items() if series.kind in kinds]

    def _gauge(self, name: str) -> GaugeFigures | None:
        if self.span is None:
            return None
        found = self._course(name)
        before, after = _value(name, self.span.before), _value(name, self.span.after)
        if found is None and before is None and after is None:
            return None
        return GaugeFigures(
            before=before,
            mean=self._of_course(name, found, "mean"),
            most=self._of_course(name, found, "most"),
            after=after,
        )

    def _of_course(self, name: str, found: Course | None, which: str) -> Found:
        if found is None:
            return Unavailable(reason="not available: no reading in the measured window")
        is_mean = which == "mean"
        value = found.mean if is_mean else found.most
        return Figure(
            unit=OBSERVABLES[name].unit,
            basis=self.basis,
            method="mean over time of the sampled gauge, linear between readings"
            if is_mean
            else "greatest of the readings; between them it may have been more",
            n=found.n,
            value=value,
            low=None if is_mean else value,
        )

    def _difference(self, name: str, gain: float | Unavailable) -> Found:
        if isinstance(gain, Unavailable):
            return gain
        return Figure(
            unit=OBSERVABLES[name].unit,
            basis=self.basis,
            method="difference of the counter before and after the cell",
            n=2,
            value=gain,
        )

    def _times(self, name: str) -> dict[str, Found]:
        if self.span is None:
            return {}
        in_window = self.span.from_(self.client.window_ns[0])
        found, whole = in_window.times(name), self.span.times(name)
        if found is None or isinstance(found, Unavailable):
            return {} if found is None else {"p95": found}
        exact = in_window.before.present == 0
        at_most = whole.total if isinstance(whole, Histogram) else None
        figures: dict[str, Found] = {
            f"p{percent:g}": bracket_figure(
                self.basis, found, percent, exact=exact, at_most=at_most
            )
            for percent in _PERCENTS
        }
        if found.mean is not None:
            figures["mean"] = Figure(
                unit="s",
                basis=self.basis,
                method="sum over count of the histogram, difference of two readings",
                n=found.n,
                value=found.mean,
            )
        return figures

    def _missing(self, shown: set[str]) -> dict[str, Unavailable]:
        """What is named but was not shown, and of the usual what is not offered."""
        if self.source is None:
            return dict.fromkeys(_ALWAYS, NO_METRICS)
        if self.span is None:
            return dict.fromkeys((*self.series, *_ALWAYS), UNREAD)
        named = {
            name: absent(series.name)
            for name, series in self.series.items()
            if name not in shown
        }
        offered = {*self.series, *shown}
        not_offered = {
            name: Unavailable(reason=NOT_OFFERED) for name in _ALWAYS if name not in offered
        }
        return named | not_offered

    def _client(self) -> dict[str, float]:
        client = self.client
        return {
            "requests": len(client.sent_ns),
            "prompt_tokens": float(np.nansum(client.prompt_tokens)),
            "output_tokens": float(np.nansum(client.output_tokens)),
        }


def _value(name: str, reading: Reading) -> float | None:
    return reading.kv_use if name == "kv_use" else reading.gauges.get(name)

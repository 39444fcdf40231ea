"""A cell as plan files: every request drawn before the run, dealt to the shards.

The load is drawn as one and then divided: warm-up and measured requests are counted over
all shards together, so that their windows open and close at the same time.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flows.bench.counts import Counts, counts_of
from flows.bench.probe import Survey
from flows.bench.spec import CellSpec
from flows.bench.workload import Item, TokenCount, items, trace_rows
from flows.errors import UsageError
from flows.load.arrivals import Schedule, dealt, schedule
from flows.load.draws import Purpose, generator
from flows.load.plan import PlanHeader, PlannedRequest, Warmup, write_plan
from flows.load.prompts import BodyForm

_TEXT_SPARE = 1.2  # a text's shared characters may be more of its tokens than of its letters


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """The files of a drawn cell and what they hold altogether.

    ``shared_share`` is the part of all prompts that an earlier one had at the same place,
    ``requests`` those of warm-up and measurement (None: time says how many),
    ``offered_rate`` in requests or sessions per second.
    """

    paths: tuple[Path, ...]
    offered_rate: float | None
    shared_share: float
    requests: int | None


def write_plans(
    spec: CellSpec, survey: Survey, folder: Path, count_tokens: TokenCount | None = None
) -> CellPlan:
    """Draw the cell and write one plan file per shard into ``folder``."""
    rows = trace_rows(spec.load.trace) if spec.load.trace is not None else ()
    counts = counts_of(spec, survey, rows)
    drawn = list(items(spec, survey, counts.total, rows, count_tokens))
    counts = counts.held_to(len(drawn))
    times = _times(spec, drawn, [row.at_ns for row in rows])
    shards = _dealt_to_shards(spec, drawn, times, counts)
    paths = []
    for number, shard in enumerate(shards):
        path = folder / f"plan-{number}.jsonl"
        path.touch(mode=0o600)  # it carries the endpoint's keys
        write_plan(path, _header(spec, number, shard), shard.requests)
        paths.append(path)
    return CellPlan(
        paths=tuple(paths),
        offered_rate=spec.load.rate_per_s or _rate_of(times),
        shared_share=_shared_share(drawn),
        requests=None
        if spec.amount.duration_s is not None
        else counts.warmup + counts.measured,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shard:
    requests: list[PlannedRequest]
    counts: Counts


def _times(spec: CellSpec, drawn: Sequence[Item], trace_ns: Sequence[int]) -> Schedule | None:
    """When sessions start; None in a closed loop."""
    sessions = sum(item.turn == 0 for item in drawn)
    load = spec.load
    if load.process == "closed":
        return None
    if load.process == "trace":
        return dealt(_paced(trace_ns[:sessions], load.rate_per_s), spec.shards)
    shards = [
        generator(spec.seed, spec.replication, Purpose.ARRIVALS, part)
        for part in range(spec.shards)
    ]
    rate_per_s = load.rate_per_s or 0.0
    return schedule(
        load.process, rate_per_s, sessions, burstiness=load.burstiness, shards=shards
    )


def _dealt_to_shards(
    spec: CellSpec, drawn: Sequence[Item], times: Schedule | None, counts: Counts
) -> list[_Shard]:
    form = BodyForm(
        dialect=spec.target.dialect,
        model=spec.target.model,
        temperature=spec.temperature,
        seed=spec.seed,
        forced=spec.content.forced,
    )
    requests: list[list[PlannedRequest]] = [[] for _ in range(spec.shards)]
    phases: list[Counter[str]] = [Counter() for _ in range(spec.shards)]
    for sequence, item in enumerate(drawn):
        shard = item.session % spec.shards if times is None else int(times.shard[item.session])
        phases[shard][counts.phase(sequence)] += 1
        requests[shard].append(_planned(spec, form, sequence, item, times))
    return [
        _Shard(requests=own, counts=Counts(**{name: phase[name] for name in Counts.NAMES}))
        for own, phase in zip(requests, phases, strict=True)
    ]


def _planned(
    spec: CellSpec, form: BodyForm, sequence: int, item: Item, times: Schedule | None
) -> PlannedRequest:
    is_timed = times is not None and item.turn == 0
    endpoints = len(spec.target.endpoints)
    return PlannedRequest(
        sequence=sequence,
        at_ns=int(times.at_ns[item.session]) if times is not None and is_timed else None,
        session=item.session,
        turn=item.turn,
        think_ns=item.think_ns,
        endpoint=item.session // spec.shards % endpoints,
        prompt_id=sequence,
        prompt_tokens=item.prompt_tokens,
        output_tokens=item.output_tokens,
        body=form.body(item.prompt_json, item.output_tokens),
    )


def _header(spec: CellSpec, number: int, shard: _Shard) -> PlanHeader:
    by_time = spec.amount.duration_s is not None
    if not by_time and shard.counts.measured == 0:
        raise UsageError(
            "--shards",
            f"shard {number} of {spec.shards} has nothing to measure",
            "Ask for fewer shards or more requests",
        )
    rate_per_s = spec.load.rate_per_s
    return PlanHeader(
        run=spec.run,
        cell=spec.cell,
        replication=spec.replication,
        shard=number,
        seed=spec.seed,
        endpoints=spec.target.endpoints,
        arrival="open" if spec.load.is_open else "closed",
        concurrency=_share(spec.load.concurrency, number, spec.shards),
        offered_rate=rate_per_s / spec.shards if rate_per_s is not None else None,
        timeout_s=spec.timeout_s,
        warmup=Warmup(mode=spec.amount.warmup, requests=shard.counts.warmup),
        measured_requests=None if by_time else shard.counts.measured,
        duration_s=spec.amount.duration_s,
        dialect=spec.target.dialect,
    )


def _share(concurrency: int | None, number: int, shards: int) -> int | None:
    if concurrency is None:
        return None
    return concurrency // shards + (number < concurrency % shards)


def _paced(at_ns: Sequence[int], rate_per_s: float | None) -> NDArray[np.int64]:
    """The trace's times, from its first request on, stretched or shrunk to a mean rate."""
    times = np.array(at_ns, dtype=np.int64)
    if rate_per_s is None or len(times) < 2 or times[-1] == 0:
        return times
    span_ns = (len(times) - 1) / rate_per_s * 1e9
    stretched: NDArray[np.float64] = np.rint(times * (span_ns / float(times[-1])))
    return stretched.astype(np.int64)


def _rate_of(times: Schedule | None) -> float | None:
    """Mean rate of a schedule in requests/s."""
    if times is None or len(times.at_ns) < 2 or times.at_ns[-1] == times.at_ns[0]:
        return None
    return (len(times.at_ns) - 1) / (int(times.at_ns[-1] - times.at_ns[0]) / 1e9)


def _shared_share(drawn: Sequence[Item]) -> float:
    """Part of all prompts that an earlier one had at the same place."""
    known = [(item.shared_tokens, item.prompt_tokens) for item in drawn]
    pairs = [(shared, tokens) for shared, tokens in known if shared is not None and tokens]
    if len(pairs) < len(drawn):
        estimate = common_share([item.prompt_json for item in drawn])
        return min(1.0, _TEXT_SPARE * estimate)
    prompts = sum(tokens for _, tokens in pairs)
    return sum(shared for shared, _ in pairs) / prompts if prompts else 0.0


def common_share(texts: Sequence[str]) -> float:
    """Part of all characters that a cache of every prefix ever seen would have held.

    In alphabetical order a text shares with its neighbour the most that it shares with any
    text before it.
    """
    ordered = sorted(texts)
    common = sum(_common_prefix(one, other) for one, other in pairwise(ordered))
    return common / max(1, sum(map(len, ordered)))


def _common_prefix(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return bisect(range(1, shorter + 1), False, key=lambda end: one[:end] != other[:end])

"""How far this machine's client can be trusted: measured against a null server.

The null server notes when it wrote each chunk, by the same clock as the client's stamps, so
that the difference is the client's error and nothing else. Chunks whose write was itself
held up are left out: their true time is not known. Both share this machine, as they do when
a local server is measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from flows.bench.null_server import TOKENS
from flows.bench.shard import run_shard
from flows.errors import InfrastructureError
from flows.load.parse import parse_request
from flows.load.plan import Endpoint, PlanHeader, PlannedRequest, Warmup, write_plan
from flows.load.raw import RawRun, read_raw

LEVELS: Final = (16, 64, 256, 1024)  # streams
_ROUNDS: Final = 3  # answers per stream; the first wave, sent all at once, is warm-up
_CORE_LIMIT: Final = 0.8  # share of a core above which a cell is `client-bound`
_TIMEOUT_S: Final = 60.0
_KNOWN_NS: Final = 50_000  # a write that took longer was held up

Truth = tuple[Sequence[int], Sequence[int]]  # times before and after each write


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The client's error and effort with so many streams; None where nothing was seen.

    ``bias_us`` is stamp minus the server's write, its median and its 99th percentile over
    all chunks; ``gap_error_ms_p99`` is how far the client's 99th percentile of gaps is from
    the true one; ``cpu_us_per_chunk`` is processor time from first send to last byte.
    """

    streams: int
    chunks_per_s: float
    bias_us_p50: float
    bias_us_p99: float
    gap_error_ms_p99: float
    send_lag_ms_p99: float | None
    loop_lag_ms_p99: float | None
    cpu_share: float
    cpu_us_per_chunk: float

    @property
    def is_trustworthy(self) -> bool:
        """True below the share of a core past which a cell would be `client-bound`."""
        return self.cpu_share <= _CORE_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """All levels, and the rate of chunks at which one process reaches its limit."""

    levels: tuple[Level, ...]

    @property
    def ceiling_chunks_per_s(self) -> float:
        """Chunks per second at 80% of a core, by the cost at the busiest level."""
        return _CORE_LIMIT * 1e6 / self.levels[-1].cpu_us_per_chunk

    def to_json(self) -> dict[str, Any]:
        """The calibration as one JSON object."""
        names = Level.__dataclass_fields__
        levels = [{name: getattr(level, name) for name in names} for level in self.levels]
        return {
            "schema_version": 1,
            "ceiling_chunks_per_s": self.ceiling_chunks_per_s,
            "levels": levels,
        }


def calibrate(
    levels: Sequence[int] = LEVELS, *, told: Callable[[Level], None] = lambda _level: None
) -> Calibration:
    """Measure the client on this machine, one level after the other."""
    done = []
    for streams in levels:
        done.append(_measured(streams))
        told(done[-1])
    return Calibration(levels=tuple(done))


def _measured(streams: int) -> Level:
    with tempfile.TemporaryDirectory(prefix="runoff-calibrate-") as folder:
        plan, raw, log = (Path(folder) / name for name in ("plan.jsonl", "raw", "truth.jsonl"))
        with _null_server(log) as url:
            write_plan(plan, _header(url, streams), _requests(streams))
            run_shard(plan, raw)
        written = {sequence: (before, after) for sequence, before, after in _entries(log)}
        return level_of(streams, read_raw(raw), written)


def _header(url: str, streams: int) -> PlanHeader:
    return PlanHeader(
        run="calibrate",
        cell=f"null-{streams}",
        replication=0,
        shard=0,
        seed=0,
        endpoints=(Endpoint(url=f"{url}/v1/completions"),),
        arrival="closed",
        concurrency=streams,
        offered_rate=None,
        timeout_s=_TIMEOUT_S,
        warmup=Warmup(mode="fixed", requests=streams),
        measured_requests=streams * (_ROUNDS - 1),
        duration_s=None,
        dialect="completions",
    )


def _requests(streams: int) -> Iterator[PlannedRequest]:
    for sequence in range(streams * _ROUNDS):
        yield PlannedRequest(
            sequence=sequence,
            at_ns=None,
            session=sequence,
            turn=0,
            think_ns=0,
            endpoint=0,
            prompt_id=sequence,
            prompt_tokens=None,
            output_tokens=TOKENS,
            body=json.dumps({"seed": sequence, "prompt": "word " * 1024}),
        )


@contextmanager
def _null_server(log: Path) -> Iterator[str]:
    process = subprocess.Popen(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-P", "-m", "flows.bench.null_server", str(log)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        first = process.stdout.readline() if process.stdout else ""
        if " on http://" not in first:
            raise InfrastructureError("the null server", "did not start", "")
        try:
            yield first.split(" on ", 1)[1].strip()
        finally:
            process.terminate()


def _entries(log: Path) -> Iterable[tuple[int, list[int], list[int]]]:
    return map(json.loads, log.read_text(encoding="ascii").splitlines())


def level_of(streams: int, raw: RawRun, written: Mapping[int, Truth]) -> Level:
    """The client's error at one level, from what it recorded and what was written when."""
    biases, ours, true = [], [], []
    for request in raw.requests:
        stamps = parse_request(request, "completions").stamps_ns
        before, after = written.get(request.sequence, ((), ()))
        if request.phase != "warmup" and len(stamps) == len(before):
            known = np.subtract(after, before) < _KNOWN_NS
            biases.append(np.subtract(stamps, before)[known])
            between = known[1:] & known[:-1]
            ours.append(np.diff(stamps)[between])
            true.append(np.diff(before)[between])
    if not any(map(len, ours)):
        raise InfrastructureError(
            "the null server", "no whole answer with known times was recorded", ""
        )
    bias_us = np.concatenate(biases) / 1e3
    gap_ms = [float(np.quantile(np.concatenate(gaps), 0.99)) / 1e6 for gaps in (ours, true)]
    chunks = sum(len(before) for before, _ in written.values())
    client = raw.client
    return Level(
        streams=streams,
        chunks_per_s=chunks / client["wall_s"],
        bias_us_p50=float(np.quantile(bias_us, 0.5)),
        bias_us_p99=float(np.quantile(bias_us, 0.99)),
        gap_error_ms_p99=abs(gap_ms[0] - gap_ms[1]),
        send_lag_ms_p99=client["send_lag_ms_p99"],
        loop_lag_ms_p99=client["loop_lag_ms_p99"],
        cpu_share=client["cpu_share"],
        cpu_us_per_chunk=client["cpu_s"] * 1e6 / chunks,
    )

"""The plan file: every request of one cell, drawn before the run, in sending order.

JSON lines. The first is the header, each other line one request. Format history:
1  first version.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from flows.load.errors import PlanError

FORMAT = 1

Arrival = Literal["open", "closed"]
Dialect = Literal["completions", "chat"]


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise PlanError(sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How an https endpoint's certificate is checked; `ca` is a PEM file or None."""

    verify: bool = True
    ca: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A full URL to POST to, with the headers that every request to it carries."""

    url: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tls: Tls = dataclasses.field(default_factory=Tls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """At most `requests` are discarded; adaptive ends earlier once the windows agree.

    They agree when the medians of TTFT and of ITL over `windows` consecutive windows of
    `window` completed requests each lie within `tolerance` (relative) of one another.
    """

    mode: Literal["adaptive", "fixed"] = "adaptive"
    requests: int = 100
    window: int = 10
    windows: int = 3
    tolerance: float = 0.02

    def __post_init__(self) -> None:
        _require(self.mode in ("adaptive", "fixed"), f"warmup.mode is {self.mode!r}")
        _require(self.requests >= 0, f"warmup.requests is {self.requests}, below 0")
        _require(self.window >= 1, f"warmup.window is {self.window}, below 1")
        _require(self.windows >= 2, f"warmup.windows is {self.windows}, below 2")
        _require(self.tolerance > 0, f"warmup.tolerance is {self.tolerance}, not above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHeader:
    """What holds for all requests of the cell.

    `concurrency` is the number of streams kept in flight in a closed loop and the cap on
    requests in flight in an open one (None: no cap). Measured are `measured_requests`
    requests behind the warm-up or, by time, those due within `duration_s` of its end.
    `zero_ns` is the monotonic time, of the machine that runs the plan, at which its schedule
    begins, so that several machines begin at once (None: as soon as all is ready).
    """

    run: str
    cell: str
    replication: int
    shard: int
    seed: int
    endpoints: tuple[Endpoint, ...]
    arrival: Arrival
    concurrency: int | None
    offered_rate: float | None
    timeout_s: float
    warmup: Warmup
    measured_requests: int | None
    duration_s: float | None
    dialect: Dialect
    zero_ns: int | None = None
    format: int = FORMAT

    def __post_init__(self) -> None:
        _require(
            self.format == FORMAT,
            f"plan format {self.format} is not {FORMAT}: write the plan with this version",
        )
        _require(len(self.endpoints) > 0, "the plan has no endpoint")
        _require(self.arrival in ("open", "closed"), f"arrival is {self.arrival!r}")
        _require(self.dialect in ("completions", "chat"), f"dialect is {self.dialect!r}")
        _require(
            self.concurrency is None or self.concurrency >= 1,
            f"concurrency is {self.concurrency}, below 1",
        )
        _require(
            self.arrival == "open" or self.concurrency is not None,
            "a closed loop needs concurrency: the number of streams kept in flight",
        )
        _require(self.timeout_s > 0, f"timeout_s is {self.timeout_s}, not above 0")
        _require(
            (self.measured_requests is None) != (self.duration_s is None),
            "exactly one of measured_requests and duration_s says how much is measured",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """One request: when it is due, whose turn it is, and the JSON body to POST.

    `at_ns` counts from the schedule's zero; None in a closed loop, and for a later turn,
    which is due `think_ns` after the end of its session's previous turn.
    """

    sequence: int
    at_ns: int | None
    session: int
    turn: int
    think_ns: int
    endpoint: int
    prompt_id: int
    prompt_tokens: int | None
    output_tokens: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A header and its requests in sending order; construction checks that they agree."""

    header: PlanHeader
    requests: tuple[PlannedRequest, ...]

    def __post_init__(self) -> None:
        previous_turn: dict[int, int] = {}
        previous_at_ns = 0
        for request in self.requests:
            where = f"request {request.sequence}"
            self._check_place(request, where)
            turn = previous_turn.get(request.session, -1) + 1
            _require(request.turn == turn, f"{where}: turn {request.turn} is not {turn}")
            previous_turn[request.session] = turn
            if request.at_ns is not None:
                in_order = request.at_ns >= previous_at_ns
                _require(in_order, f"{where}: at_ns {request.at_ns} is before the line above")
                previous_at_ns = request.at_ns

    def _check_place(self, request: PlannedRequest, where: str) -> None:
        last = len(self.header.endpoints) - 1
        _require(0 <= request.endpoint <= last, f"{where}: endpoint is not in 0 to {last}")
        timed = self.header.arrival == "open" and request.turn == 0
        _require(
            (request.at_ns is not None) == timed,
            f"{where}: at_ns is {request.at_ns}; the first turns of an open loop have a"
            " time, closed loops and later turns have none",
        )


def write_plan(path: Path, header: PlanHeader, requests: Iterable[PlannedRequest]) -> None:
    """Write header and requests as JSON lines to `path`."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(dataclasses.asdict(header)) + "\n")
        for request in requests:
            file.write(json.dumps(dataclasses.asdict(request)) + "\n")


def read_plan(path: Path) -> Plan:
    """Plan read from `path`; raises PlanError with file and line where it is wrong."""
    header: PlanHeader | None = None
    requests = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}:{number}"
                if header is None:
                    header = _header(json.loads(line))
                else:
                    requests.append(PlannedRequest(**json.loads(line)))
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from error
    except (PlanError, TypeError, ValueError, KeyError) as error:
        raise PlanError(f"{where}: {error}") from error
    if header is None:
        raise PlanError(f"{path}: is empty; its first line must be the plan's header")
    try:
        return Plan(header=header, requests=tuple(requests))
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error


def _header(row: Mapping[str, Any]) -> PlanHeader:
    endpoints = tuple(
        Endpoint(**{**endpoint, "tls": Tls(**endpoint.get("tls", {}))})
        for endpoint in row["endpoints"]
    )
    return PlanHeader(**{**row, "endpoints": endpoints, "warmup": Warmup(**row["warmup"])})

"""The raw file: what the load process saw, unparsed.

Little-endian: magic and version, the body bytes of all requests in order, 64-bit columns
(one value per request each), the fragments' lengths (32 bit) and stamps (64 bit), a JSON
object with everything that is there once, and last the place of the columns and of that
object. Bodies come first so that a writer needs no second copy of them. Format history:
1  first version.
"""

import json
import mmap
import os
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, Any, Literal

from flows.load.errors import RawError

FORMAT = 1

Phase = Literal["warmup", "measured", "drain"]
Outcome = Literal["complete", "connect", "reset", "timed_out", "cancelled", "not_sent"]

_MAGIC = b"RUNOFFRAW"
_HEAD = struct.Struct("<9sB")
_TAIL = struct.Struct("<QQQ")  # offset of the columns, offset and length of the JSON object
_NULL = -(1 << 63)
_TEXTS = ("phase", "outcome", "error", "content_type")
_FLAGS = ("reused", "reconnected")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRequest:
    """One planned request and what happened to it; times are monotonic nanoseconds.

    `scheduled_ns` is when it was due (closed loop: when its slot came free),
    `slot_free_ns` when the slot it had to wait for came free (None: no cap bound it),
    `sent_ns` the time just before its last byte was written. `outcome` is `complete` when the
    HTTP answer ended as it was framed, whatever its status. `fragments` are body bytes in
    order of arrival, HTTP chunk framing removed; `stamps_ns` says when each arrived. None is
    unknown.
    """

    sequence: int
    phase: Phase
    session: int
    turn: int
    endpoint: int
    prompt_id: int
    prompt_tokens: int | None
    output_tokens: int
    connection: int | None
    reused: bool
    reconnected: bool
    scheduled_ns: int | None
    slot_free_ns: int | None
    sent_ns: int | None
    first_byte_ns: int | None
    done_ns: int | None
    status: int | None
    outcome: Outcome
    error: str
    content_type: str
    fragments: list[bytes]
    stamps_ns: "array[int]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One opened connection: what its set-up took, in microseconds; None: no such step."""

    id: int
    endpoint: int
    dns_us: float | None
    connect_us: float
    tls_us: float | None
    opened_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is there once per run.

    `zero_ns` is the schedule's zero, `anchor_unix_ns` the wall clock at
    `anchor_monotonic_ns`, `window` the scheduled times of the first and the last measured
    request. `complete` is False when the run was interrupted. `client` is the load
    process's account of itself.
    """

    header: Mapping[str, Any]
    anchor_monotonic_ns: int
    anchor_unix_ns: int
    zero_ns: int
    started_ns: int
    ended_ns: int
    complete: bool
    warmup_converged: bool | None
    warmup_requests: int
    window: tuple[int, int] | None
    client: Mapping[str, Any]
    connections: tuple[Connection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRun(RunFacts):
    """The facts of a run with all its requests, in the plan's order."""

    requests: tuple[RawRequest, ...]


_COLUMNS = tuple(
    field.name for field in fields(RawRequest) if field.name not in ("fragments", "stamps_ns")
)


class _Columns:
    """Collects requests column by column while their bodies go to the file."""

    def __init__(self) -> None:
        self.texts: dict[str, dict[str, int]] = {name: {} for name in _TEXTS}
        self.values = {name: array("q") for name in (*_COLUMNS, "fragments")}
        self.lengths = array("I")
        self.stamps = array("q")

    def add(self, request: RawRequest) -> None:
        for name in _COLUMNS:
            value = getattr(request, name)
            if name in self.texts:
                known = self.texts[name]
                value = known.setdefault(value, len(known))
            self.values[name].append(_NULL if value is None else value)
        self.values["fragments"].append(len(request.fragments))
        self.lengths.extend(map(len, request.fragments))
        self.stamps.extend(request.stamps_ns)

    def parts(self) -> Iterator["array[int]"]:
        yield from self.values.values()
        yield self.lengths
        yield self.stamps


def write_raw(path: Path, facts: RunFacts, requests: Iterable[RawRequest]) -> None:
    """Write the run to `path`, atomically; `requests` are taken one after the other."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            _write(file, facts, requests)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        raise RawError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        aside.unlink(missing_ok=True)


def _write(file: IO[bytes], facts: RunFacts, requests: Iterable[RawRequest]) -> None:
    columns = _Columns()
    file.write(_HEAD.pack(_MAGIC, FORMAT))
    for request in requests:
        file.writelines(request.fragments)
        columns.add(request)
    columns_at = file.tell()
    for part in columns.parts():
        file.write(_little_endian(part))
    once_at = file.tell()
    once = {field.name: getattr(facts, field.name) for field in fields(RunFacts)}
    once["connections"] = [
        [getattr(connection, field.name) for field in fields(Connection)]
        for connection in facts.connections
    ]
    once["texts"] = {name: list(known) for name, known in columns.texts.items()}
    once["counts"] = [len(columns.values["sequence"]), len(columns.lengths)]
    file.write(json.dumps(once).encode())
    file.write(_TAIL.pack(columns_at, once_at, file.tell() - once_at))


def _little_endian(values: "array[int]") -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def read_raw(path: Path) -> RawRun:
    """Run read from `path`; raises RawError where the file is not a whole raw file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return _read(data)
    except OSError as error:
        raise RawError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, struct.error, KeyError, IndexError, TypeError) as error:
        raise RawError(f"{path}: not a whole raw file: {error}") from error


def _read(data: mmap.mmap) -> RawRun:
    magic, version = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != FORMAT:
        raise ValueError(f"it starts with {magic!r}, format {version}; expected {FORMAT}")
    columns_at, once_at, once_bytes = _TAIL.unpack_from(data, len(data) - _TAIL.size)
    once = json.loads(data[once_at : once_at + once_bytes])
    texts, (request_count, fragment_count) = once.pop("texts"), once.pop("counts")
    place = columns_at

    def column(code: str, count: int) -> "array[int]":
        nonlocal place
        values = array(code)
        values.frombytes(data[place : place + count * values.itemsize])
        place += count * values.itemsize
        if sys.byteorder == "big":
            values.byteswap()
        return values

    values = {name: column("q", request_count) for name in (*_COLUMNS, "fragments")}
    lengths, stamps = column("I", fragment_count), column("q", fragment_count)
    if place != once_at:
        raise ValueError(f"the columns end at byte {place}, not {once_at}")
    once["connections"] = tuple(
        Connection(**dict(zip((field.name for field in fields(Connection)), row, strict=True)))
        for row in once["connections"]
    )
    once["window"] = tuple(once["window"]) if once["window"] is not None else None
    fragment_counts = values.pop("fragments")
    rows = zip(*(_decoded(name, values[name], texts) for name in _COLUMNS), strict=True)
    bodies = _bodies(data, fragment_counts, lengths, stamps)
    requests = tuple(
        RawRequest(
            **dict(zip(_COLUMNS, row, strict=True)), fragments=fragments, stamps_ns=stamps_ns
        )
        for row, (fragments, stamps_ns) in zip(rows, bodies, strict=True)
    )
    return RawRun(**once, requests=requests)


def _decoded(name: str, column: "array[int]", texts: Mapping[str, list[str]]) -> list[Any]:
    if name in texts:
        return [texts[name][index] for index in column]
    if name in _FLAGS:
        return [bool(value) for value in column]
    return [None if value == _NULL else value for value in column]


def _bodies(
    data: mmap.mmap, counts: Iterable[int], lengths: "array[int]", stamps: "array[int]"
) -> Iterator[tuple[list[bytes], "array[int]"]]:
    first, place = 0, _HEAD.size
    for count in counts:
        ends = list(accumulate(lengths[first : first + count], initial=place))
        yield [data[start:end] for start, end in pairwise(ends)], stamps[first : first + count]
        first, place = first + count, ends[-1]

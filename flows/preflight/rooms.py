"""Room: disk for weights and records, memory for servers, open files for connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flows.preflight.finding import Finding, blocks, warns
from flows.preflight.probes import Probes
from flows.preflight.question import Question, Subject

FILES_BESIDE: Final = 64
_RECORD_BYTES: Final = 1024  # of a request, and for each of its tokens:
_TOKEN_BYTES: Final = 16
_LOG_BYTES: Final = 50_000_000  # of one launch, before it is packed
_SEARCHED_POINTS: Final = 12
_GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """Bytes that something will take in a folder."""

    what: str
    folder: Path
    needed: int


def room_findings(question: Question, probes: Probes) -> Iterator[Finding]:
    """Where this machine is too small for what the campaign does on it."""
    yield from _disks(question, probes)
    for subject in question.local:
        yield from _memory(subject, question, probes)
    yield from _files(question, probes)


def record_bytes(question: Question) -> int:
    """Bytes of a run's records and logs, roughly and rather too many: an assumption."""
    matrix, contract = question.campaign.matrix, question.campaign.contract
    rates = _SEARCHED_POINTS if matrix.rates == "search" else len(matrix.rates)
    launches = matrix.replications * len(question.subjects)
    cells = launches * (len(matrix.concurrency) + rates)
    request = _RECORD_BYTES + _TOKEN_BYTES * contract.output_tokens.maximum
    return cells * matrix.requests * request + launches * _LOG_BYTES


def weight_bytes(question: Question) -> int:
    """Bytes of the weights that are fetched or made on this machine, each once."""
    wanted = {}
    for subject in question.local:
        candidate = subject.candidate
        if candidate.checkpoint in ("hub", "dummy") and subject.weight_bytes is not None:
            form = candidate.precision or question.campaign.contract.precision.weights
            wanted[candidate.checkpoint, form] = subject.weight_bytes
    return sum(wanted.values())


def _disks(question: Question, probes: Probes) -> Iterator[Finding]:
    """Demands on one disk are one demand."""
    demands = [
        _Demand(what="store", folder=question.store, needed=record_bytes(question)),
    ]
    weights = weight_bytes(question)
    if weights:
        missing = max(0, weights - probes.kept(question.checkpoints))
        demands.append(_Demand(what="checkpoints", folder=question.checkpoints, needed=missing))
    by_disk: dict[int | None, list[_Demand]] = {}
    for demand in demands:
        reason = probes.unwritable(demand.folder)
        if reason is not None:
            where = f"{demand.what} {demand.folder}"
            yield blocks(where, f"no file can be made there: {reason}", "Choose another folder")
        else:
            by_disk.setdefault(probes.disk(demand.folder), []).append(demand)
    for together in by_disk.values():
        yield from _disk(together, probes.room(together[0].folder))


def _disk(demands: list[_Demand], free: int | None) -> Iterator[Finding]:
    needed = sum(demand.needed for demand in demands)
    if free is not None and free < needed:
        sizes = " and ".join(f"{each.what} about {_size(each.needed)}" for each in demands)
        yield blocks(
            "; ".join(f"{each.what} {each.folder}" for each in demands),
            f"{sizes} are needed, and {_size(free)} are free",
            "Make room, or choose a folder on another disk",
        )


def _memory(subject: Subject, question: Question, probes: Probes) -> Iterator[Finding]:
    if subject.weight_bytes is None or not subject.in_host_memory:
        return
    system, times = probes.system, subject.replicas
    weights = subject.weight_bytes * times
    most = system.usable_memory_bytes
    if most is not None and weights > most:
        yield blocks(
            subject.where,
            f"its weights alone are {_size(weights)} and this machine has {_size(most)}",
            "Choose a smaller model or precision, or another host",
        )
        return
    whole, free = weights + (subject.kv_bytes or 0) * times, system.memory.available_bytes
    if free is not None and whole > free:
        yield warns(
            subject.where,
            f"weights and the cache of {question.streams} streams are {_size(whole)} and "
            f"{_size(free)} are free now",
            "Close other programs, or ask for fewer streams: else it swaps or is killed",
        )


def _files(question: Question, probes: Probes) -> Iterator[Finding]:
    matrix, most = question.campaign.matrix, probes.system.limits.open_files_most
    open_at_once = question.streams
    if matrix.rates:  # without a cap every request of a cell may be open at once
        open_at_once = max(open_at_once, matrix.max_in_flight or matrix.requests)
    needed = open_at_once + FILES_BESIDE
    if most is not None and most < needed:
        yield blocks(
            "open files (ulimit -Hn)",
            f"up to {open_at_once} connections need {needed}, and {most} are allowed",
            "Raise the limit, or ask for less concurrency",
        )


def _size(count: int) -> str:
    return f"{count / _GIB:.2f} GiB"

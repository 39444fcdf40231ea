"""How long the steps of a campaign take, from low to high: assumptions, and said to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

from flows.matrix.amounts import duration_s, goal_rate_per_s, timed_requests
from reports.run.plan_file import CandidateFacts, ContractFacts, LoadPoint, MatrixFacts, RunPlan

_MEAN_UNKNOWN: Final = 128.0  # tokens, where a plan does not say
_GUESSED_REQUEST_S: Final = (0.5, 60.0)  # one request, where neither bound nor limit says more
BESIDE_LIMITS: Final = 1 / 20  # a request may be so much faster than the contract allows
_SETTLING_S: Final = (2.0, 15.0)  # around every cell: probe, tokens, files
_CONVERGED: Final = 30  # requests after which an adaptive warm-up may end: three windows
_BOOT_S: Final = {"cloud": (60.0, 600.0)}
_INSTALL_S: Final = {
    "local": (0.0, 900.0),  # nothing to do where an earlier run has done it
    "ssh": (0.0, 900.0),
    "cloud": (60.0, 900.0),
}
_DOWNLOAD_B_PER_S: Final = (1.0e9, 0.1e9)
_UPLOAD_B_PER_S: Final = (0.125e9, 0.0125e9)  # from here: 1 Gbit/s to 100 Mbit/s
AWAY: Final = ("ssh", "cloud")
_READ_B_PER_S: Final = (3.0e9, 0.3e9)
_START_S: Final = (1.0, 60.0)  # a server beside its weights: processes, graphs, first token
_STOP_S: Final = (0.5, 15.0)
_RELEASE_S: Final = {"local": (1.0, 10.0), "ssh": (5.0, 60.0), "cloud": (10.0, 120.0)}
PROOF_POINTS: Final = 2
_CALIBRATION_S: Final = (25.0, 300.0)  # on two cores; three attempts, with PyTorch's figures
_SHORT_CALIBRATION_S: Final = (5.0, 60.0)  # the same of an exploratory campaign, one attempt
_ACCELERATOR_S: Final = (0.0, 120.0)  # nothing without PyTorch there; nine figures, three times
_SHORT_ACCELERATOR_S: Final = (0.0, 30.0)


@dataclass(frozen=True, slots=True)
class Range:
    """Seconds from low to high."""

    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, times: float) -> Range:
        return Range(self.low * times, self.high * times)

    @classmethod
    def of(cls, pair: tuple[float, float]) -> Self:
        """The range of a pair."""
        return cls(*pair)


def added(ranges: Iterable[Range]) -> Range:
    """All of them one after another."""
    return sum(ranges, start=Range())


def boot(host_class: str) -> Range:
    """From the order to a machine that can be used."""
    return Range.of(_BOOT_S.get(host_class, (0.0, 0.0)))


def release(host_class: str) -> Range:
    """Collecting what is there and giving the machine back."""
    return Range.of(_RELEASE_S.get(host_class, (0.0, 0.0)))


def install(host_class: str) -> Range:
    """Putting one pinned release on a machine."""
    return Range.of(_INSTALL_S.get(host_class, (0.0, 0.0)))


def calibration(devices: int, *, is_short: bool) -> Range:
    """Measuring what a machine with so many accelerators reaches."""
    host, each = (
        (_SHORT_CALIBRATION_S, _SHORT_ACCELERATOR_S)
        if is_short
        else (_CALIBRATION_S, _ACCELERATOR_S)
    )
    return Range.of(host) + Range.of(each) * devices


def download(candidate: CandidateFacts) -> Range:
    """Fetching the weights, or making them, by their size.

    What is made here or lies here is copied to a machine elsewhere, unless it is there already.
    """
    if candidate.kind == "endpoint":
        return Range()
    if candidate.checkpoint == "hub":
        return _by_size(candidate, _DOWNLOAD_B_PER_S)
    is_dummy = candidate.checkpoint == "dummy"
    made = _by_size(candidate, _DOWNLOAD_B_PER_S) if is_dummy else Range()
    if candidate.host_class not in AWAY:
        return made
    sent = _by_size(candidate, _UPLOAD_B_PER_S)
    return made + Range(sent.low if candidate.host_class == "cloud" else 0.0, sent.high)


def start(candidate: CandidateFacts) -> Range:
    """One launch: reading the weights until the first token, and the stop at its end."""
    if candidate.kind == "endpoint":
        return Range()
    limit_s: Any = ((candidate.launch or {}).get("readiness") or {}).get("limit_s")
    whole = Range.of(_START_S) + _by_size(candidate, _READ_B_PER_S)
    if limit_s is not None:
        whole = Range(min(whole.low, limit_s), min(whole.high, limit_s))
    return whole + Range.of(_STOP_S)


def warm_up(plan: RunPlan, candidate: CandidateFacts, point: LoadPoint) -> Range:
    """The requests that a cell discards."""
    few, many = _discarded(plan.matrix, point)
    return Range(
        _requests(plan, candidate, point, few).low, _requests(plan, candidate, point, many).high
    )


def cell(plan: RunPlan, candidate: CandidateFacts, point: LoadPoint) -> Range:
    """The measured part of a cell and what lies around it."""
    least_s = duration_s(plan, point)
    if least_s is not None:
        return Range(least_s, least_s + request(plan, candidate).high) + Range.of(_SETTLING_S)
    count = timed_requests(plan, point)
    return _requests(plan, candidate, point, count) + Range.of(_SETTLING_S)


def request(plan: RunPlan, candidate: CandidateFacts) -> Range:
    """One request among others: from the gates' bounds to the contract's limits."""
    contract, slo = plan.contract, plan.contract.slo
    output, goal_per_s = mean_output(contract), goal_rate_per_s(contract)
    fast = _sum_ms(candidate.bound_ttft_ms, candidate.bound_itl_ms, output)
    slow = _sum_ms(slo.ttft_ms, slo.itl_ms, output)
    if slow is None and goal_per_s is not None:
        slow = (contract.concurrency or 1) / goal_per_s
    if slow is None:
        slow = fast / BESIDE_LIMITS if fast is not None else _GUESSED_REQUEST_S[1]
    if fast is None:
        fast = min(_GUESSED_REQUEST_S[0], slow * BESIDE_LIMITS)
    return Range(min(fast, slow), max(fast, slow))


def is_guessed(plan: RunPlan, candidate: CandidateFacts) -> bool:
    """Whether neither a bound nor a limit says how long a request takes."""
    slo, contract = plan.contract.slo, plan.contract
    has_limits = slo.ttft_ms is not None and slo.itl_ms is not None
    has_bounds = candidate.bound_ttft_ms is not None and candidate.bound_itl_ms is not None
    return not has_limits and not has_bounds and contract.offline is None


def mean_output(contract: ContractFacts) -> float:
    """Expected output tokens of a request."""
    return contract.mean_output_tokens or _MEAN_UNKNOWN


def _requests(plan: RunPlan, candidate: CandidateFacts, point: LoadPoint, count: int) -> Range:
    """Time of so many requests at a load.

    A closed loop above the contract's concurrency is taken to serve at least as many requests
    per second as at it; an open one ends with its last request.
    """
    one = request(plan, candidate)
    if point.rate_per_s is not None:
        arrivals_s = count / point.rate_per_s
        return Range(arrivals_s, arrivals_s + one.high)
    streams = point.concurrency or 1
    most = min(streams, plan.contract.concurrency or streams)
    return Range(count / streams * one.low, max(1.0, count / most) * one.high)


def _discarded(matrix: MatrixFacts, point: LoadPoint) -> tuple[int, int]:
    """Fewest and most requests of the warm-up; of a closed loop its first wave at least."""
    first_wave = 0 if point.is_open else point.concurrency or 0
    most = max(matrix.warmup_requests, first_wave) if matrix.warmup_requests else 0
    if matrix.warmup == "fixed":
        return most, most
    return min(most, max(_CONVERGED, first_wave)), most


def _by_size(candidate: CandidateFacts, bytes_per_s: tuple[float, float]) -> Range:
    size = candidate.weight_bytes or 0
    return Range(size / bytes_per_s[0], size / bytes_per_s[1])


def _sum_ms(ttft_ms: float | None, itl_ms: float | None, output: float) -> float | None:
    if ttft_ms is None or itl_ms is None:
        return None
    return (ttft_ms + itl_ms * max(0.0, output - 1)) / 1e3

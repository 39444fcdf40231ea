"""One run of a plan: connections opened, requests sent on schedule, the raw file written."""

import contextlib
import dataclasses
import gc
from collections.abc import Iterator
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import Any

from flows.load.address import MASK, shown
from flows.load.errors import LateError
from flows.load.interrupt import Interrupt
from flows.load.pacing import Pacing
from flows.load.plan import Plan, read_plan
from flows.load.poller import READABLE, Poller, ask_for_exact_timers
from flows.load.raw import RunFacts, write_raw
from flows.load.recorder import Recorder
from flows.load.selfcheck import Effort, LoopLag, p99_ms
from flows.load.spool import Spool
from flows.load.supply import make_room, supplies
from flows.load.target import target
from flows.load.traffic import Traffic

_LEAD_NS = 5_000_000
_GLANCE_NS = 50_000_000
# Before a stated beginning connections are opened so long ahead: a server closes idle ones.
_OPENING_NS = 2_000_000_000
# and this long ahead all is ready, so that a moment without the processor costs nothing.
_READY_NS = 100_000_000
# With this many sockets ready at once there is something better to do than to file answers.
_BUSY = 8
# Filing an answer takes some 0.1 ms, and more when the disk is slow.
_SOON_NS = 1_000_000


def run_plan(
    plan_path: Path, raw_path: Path, *, loopback_only: bool, home: int | None = None
) -> bool:
    """Run the plan and write its raw file; False when it was ended early.

    That is by a signal, or by the end of the parent process `home` where one is given.
    """
    plan = read_plan(plan_path)
    targets = [
        target(index, endpoint, loopback_only=loopback_only)
        for index, endpoint in enumerate(plan.header.endpoints)
    ]
    make_room(sum(supply.ahead + supply.spares for supply in supplies(plan)))
    ask_for_exact_timers()
    with Interrupt(home) as interrupt, Spool(raw_path) as spool, Poller() as poller:
        pacing, recorder = Pacing(plan), Recorder(spool)
        traffic = Traffic(plan, targets, pacing, recorder, poller)
        facts = _Run(
            plan=plan,
            pacing=pacing,
            recorder=recorder,
            traffic=traffic,
            poller=poller,
            interrupt=interrupt,
        ).facts()
        write_raw(raw_path, facts, recorder.requests(pacing.unsent()))
    return facts.complete


class _Run:
    """The parts of a run, and the loop that drives them."""

    def __init__(
        self,
        *,
        plan: Plan,
        pacing: Pacing,
        recorder: Recorder,
        traffic: Traffic,
        poller: Poller,
        interrupt: Interrupt,
    ) -> None:
        self._plan = plan
        self._pacing = pacing
        self._recorder = recorder
        self._traffic = traffic
        self._poller = poller
        self._interrupt = interrupt
        poller.watch(interrupt.fd, READABLE, interrupt.noted)

    def facts(self) -> RunFacts:
        """Run from opening the connections to closing them; return what is there once."""
        stated_ns = self._plan.header.zero_ns
        if stated_ns is not None:
            self._wait_until(stated_ns - _OPENING_NS)
        self._open_ahead()
        if stated_ns is not None:
            self._wait_until(stated_ns - _READY_NS)
        anchor_unix_ns, anchor_monotonic_ns = time_ns(), monotonic_ns()
        started_ns = monotonic_ns()
        zero_ns = started_ns + _LEAD_NS
        if stated_ns is not None and not self._interrupt.is_set:
            self._refuse_late(stated_ns - started_ns)
            zero_ns = stated_ns
        self._pacing.begin(zero_ns)
        lag, effort = LoopLag(zero_ns), Effort()
        with _no_garbage_collection():
            self._serve(lag)
        spent = effort.stop()
        ended_ns = monotonic_ns()
        self._traffic.close()
        phases = self._pacing.phases
        warmup = self._plan.header.warmup
        is_adaptive = warmup.mode == "adaptive" and warmup.requests > 0
        return RunFacts(
            header=_masked(self._plan),
            anchor_monotonic_ns=anchor_monotonic_ns,
            anchor_unix_ns=anchor_unix_ns,
            zero_ns=zero_ns,
            started_ns=started_ns,
            ended_ns=ended_ns,
            complete=not self._interrupt.is_set,
            warmup_converged=phases.has_converged if is_adaptive else None,
            warmup_requests=phases.warmup_requests,
            window=phases.window,
            client={**spent, **self._account(lag)},
            connections=tuple(self._traffic.connections),
        )

    def _open_ahead(self) -> None:
        """Open connections until all wanted ones are there or have failed."""
        while not self._interrupt.is_set:
            is_there = [pool.open_ahead() for pool in self._traffic.pools]
            if all(is_there):
                return
            now_ns = monotonic_ns()
            self._poller.turn(now_ns + _GLANCE_NS)
            for pool in self._traffic.pools:
                pool.expire(now_ns)
            self._interrupt.look_home()

    def _wait_until(self, moment_ns: int) -> None:
        while (now_ns := monotonic_ns()) < moment_ns and not self._interrupt.is_set:
            self._poller.turn(min(moment_ns, now_ns + _GLANCE_NS))
            self._interrupt.look_home()

    def _refuse_late(self, left_ns: int) -> None:
        if left_ns < 0:
            self._traffic.close()
            ago_ms = -left_ns / 1e6
            raise LateError(f"the common start was {ago_ms:.0f} ms ago when all was ready here")

    def _serve(self, lag: LoopLag) -> None:
        traffic, turn = self._traffic, self._poller.turn
        while not traffic.is_finished:
            is_busy = turn(min(traffic.next_ns, lag.due_ns)) >= _BUSY
            is_busy = is_busy or traffic.next_ns - monotonic_ns() < _SOON_NS
            self._recorder.put_one_aside(is_busy=is_busy)
            now_ns = monotonic_ns()
            if self._interrupt.is_set:
                traffic.abort(now_ns, "interrupted")
            if now_ns >= traffic.next_ns:
                traffic.start_due(now_ns)
            if traffic.refused:
                traffic.end_refused(now_ns)
            if now_ns >= lag.due_ns:
                lag.serve(now_ns)
                self._interrupt.look_home()
                traffic.tick(now_ns)

    def _account(self, lag: LoopLag) -> dict[str, Any]:
        traffic = self._traffic
        return {
            "send_lag_ms_p99": p99_ms(self._recorder.send_lags_ns()),
            "loop_lag_ms_p99": p99_ms(lag.lags_ns),
            "in_flight_peak": self._pacing.in_flight_peak,
            "rtt_us": traffic.rtt_us,
            "wall_clock_steps": traffic.clock.steps,
            "reads_without_kernel_stamp": traffic.clock.without_stamp,
            "closes_after_answer": [pool.closes_after_answer for pool in traffic.pools],
            "plan_ran_out": self._pacing.has_run_out(),
            "load_fell_early_s": self._pacing.fell_early_ns / 1e9,
        }


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _masked(plan: Plan) -> dict[str, Any]:
    """Plan header without the values of headers and queries, which may be secrets."""
    header = dataclasses.asdict(plan.header)
    for endpoint in header["endpoints"]:
        endpoint["url"] = shown(endpoint["url"])
        endpoint["headers"] = dict.fromkeys(endpoint["headers"], MASK)
    return header

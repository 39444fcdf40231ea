"""One launch of one candidate: how its server comes, how it goes, what is written of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flows.after_failure import began, explain
from flows.errors import InfrastructureError, LaunchError, RunoffError
from flows.interruption import Interrupted
from flows.launch.wait import Progress as StartProgress
from flows.launching import set_aside
from flows.load_way import is_apart, machine_of, place_to, way_of
from flows.measuring.process import MeasuringProcess
from flows.placement_cpus import CpuPlacement
from flows.placing import LOCAL, load_host, placement
from flows.provision import what_became
from flows.remote.lost import HostLostError, TakenBackError
from flows.sampling import sampling_of
from flows.serving import Serving, service_endpoints
from flows.underway import LOOK_LAUNCH, QUALITY_LAUNCH, SEARCH_LAUNCH, Underway, is_repetition
from reports.run.plan_file import Visit

_LOG: Final = "measuring.log"
_LOST: Final = "host lost"
_BESIDE: Final = {  # no replications
    SEARCH_LAUNCH: "search",
    LOOK_LAUNCH: "clocks",
    QUALITY_LAUNCH: "quality",
}


def todo(work: Underway, visit: Visit) -> tuple[tuple[int, str], ...]:
    """Cells of a launch that are to be measured, each with its place in the order.

    Those that will not be are said so, with the reason.
    """
    found = []
    missing = work.missing(visit)
    for position, point in enumerate(work.points(visit)):
        if point not in missing:
            continue
        why = work.skipped(visit, point)
        if why is None:
            found.append((position, point))
        else:
            _skip(work, visit, point, why)
    return tuple(found)


def afford(work: Underway, visit: Visit, point: str | None) -> None:
    """Return if a launch and its first cell are within the budget; else BudgetStop."""
    seconds = 0.0 if point is None else work.cell_s(visit.candidate, point)
    if work.facts(visit.candidate).kind == "launch":
        seconds += work.launch_s(visit.candidate)
    work.afford(f"a launch of {visit.candidate}", seconds)


def lose(work: Underway, visit: Visit, error: RunoffError) -> None:
    """Say of the cells that a failed launch leaves unmeasured that they are lost."""
    is_launch = isinstance(error, LaunchError) and not _is_lost(error)
    what = "failed launch" if is_launch else "not measured"
    work.progress.state(visit.candidate, f"{what}: {error}")
    missing = () if visit.replication in _BESIDE else work.missing(visit)
    for point in missing:
        _skip(work, visit, point, f"{what}: {error.seen}")
    if isinstance(error, TakenBackError):
        work.lose_host(visit.host, error)
    elif _is_lost(error):
        fate = what_became(work, visit.host)
        seen = f"{error.seen}; its cloud says {fate}" if fate else error.seen
        work.lose_host(visit.host, InfrastructureError(f"host {visit.host!r}", seen, error.do))


def serve(work: Underway, visit: Visit) -> Serving:
    """The candidate's server, ready, and the process that measures it.

    Raises
    ------
    RunoffError
        If it did not come up; nothing of it is left then.
    """
    number = set_aside(work.launch_folder(visit))
    attempt = f".{number + 1}" if number else ""
    again = "-production" if is_repetition(visit) else ""
    launch = f"{visit.candidate}-{_number(visit)}{again}{attempt}"
    if work.facts(visit.candidate).kind == "endpoint":
        return _service(work, visit, launch)
    work.require_kept(visit.host)
    work.record("launching", **_who(visit), launch=launch)
    work.progress.state(visit.candidate, f"launch {_number(visit)} starts")
    since_s = began(machine_of(work, visit.host))
    try:
        return _server(work, visit, launch, since_s)
    except RunoffError as error:
        if _is_of_machine(error):
            why = f"interrupted: {error.seen}"
            work.record("launch-failed", **_who(visit), launch=launch, why=why)
            raise
        _failed(work, visit, launch, error, since_s)
        raise
    except Interrupted as why:
        work.record("launch-failed", **_who(visit), launch=launch, why=f"interrupted: {why}")
        raise


def stop(work: Underway, serving: Serving, visit: Visit, death: LaunchError | None) -> None:
    """End the server, let go of who measured it; ``death`` is why it was gone before."""
    work.measurers.give_back(serving.measurer)
    running = serving.running
    if running is None:
        return
    stopped = running.stop()
    if death is not None and not _is_lost(death):
        _failed(work, visit, serving.launch, death, serving.since_s, died=True)
    work.record(
        "stopped",
        **_who(visit),
        launch=serving.launch,
        signals=list(stopped.signals),
        exit_code=stopped.exit_code,
    )


def _failed(
    work: Underway,
    visit: Visit,
    launch: str,
    error: RunoffError,
    since_s: float | None,
    **more: bool,
) -> None:
    """Write a failed launch down, and count it unless it was only for the clocks' sake."""
    if is_repetition(visit):
        more["production"] = True
    work.record("launch-failed", **_who(visit), launch=launch, why=error.seen, **more)
    _explain(work, visit, launch, error, since_s)
    if not is_repetition(visit) and visit.replication != LOOK_LAUNCH:
        work.learn_launch(visit.candidate, error)


def _explain(
    work: Underway, visit: Visit, launch: str, error: RunoffError, since_s: float | None
) -> None:
    for words in explain(work, visit, launch, error.seen, since_s):
        work.progress.said(f"{visit.candidate}, launch {_number(visit)}: {words}")


def _server(work: Underway, visit: Visit, launch: str, since_s: float | None) -> Serving:
    cpus, host = placement(work, visit.candidate), machine_of(work, visit.host)
    folder = work.launch_folder(visit)
    with _measurer(work, visit, cpus) as measurer:

        def told(progress: StartProgress) -> None:
            work.interruption.check()
            work.require_kept(visit.host)
            work.progress.detail(
                visit.candidate, f"{progress.stage}, {progress.elapsed_s:.0f} s"
            )

        plan, running = host.start(
            work.prepared[visit.candidate],
            folder,
            name=f"{work.plan.run}-{launch}",
            environment=work.around.environment,
            progress=told,
            is_open=is_apart(work, visit),
        )
        try:
            way = way_of(work, visit, plan, running, cpus.load or ())
        except BaseException:
            running.stop()
            raise
    work.record("launched", **_who(visit), launch=launch, pid=running.pid)
    work.learn_launch(visit.candidate, None)
    return Serving(
        launch,
        endpoints=(way.endpoint,),
        served_model=running.facts.served_model,
        measurer=measurer,
        placement=cpus,
        plan=plan,
        running=running,
        place=way.place,
        sampling=sampling_of(work, visit, plan, cpus, way.clock),
        since_s=since_s,
        require_kept=work.held[visit.host].require_kept,
    )


def _service(work: Underway, visit: Visit, launch: str) -> Serving:
    endpoints, model = service_endpoints(work, visit.candidate)
    cpus = CpuPlacement(server=(), load=None, threat=None)
    return Serving(
        launch,
        endpoints=endpoints,
        served_model=model,
        measurer=_taken(work, visit, cpus),
        placement=cpus,
        place=place_to(work, visit, [each.url for each in endpoints]),
    )


def _taken(work: Underway, visit: Visit, cpus: CpuPlacement) -> MeasuringProcess:
    log = work.launch_folder(visit) / _LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    is_here = load_host(work, visit.candidate) == LOCAL
    return work.measurers.take(log, (cpus.load or ()) if is_here else ())


@contextmanager
def _measurer(work: Underway, visit: Visit, cpus: CpuPlacement) -> Iterator[MeasuringProcess]:
    """Taken before the server starts: its imports are done when that is ready.

    Given back where the block fails.
    """
    measurer = _taken(work, visit, cpus)
    try:
        yield measurer
    except BaseException:
        work.measurers.give_back(measurer)
        raise


def _is_lost(error: RunoffError) -> bool:
    """Whether the machine does not answer any more."""
    return isinstance(error, HostLostError) or getattr(error, "kind", None) == _LOST


def _is_of_machine(error: RunoffError) -> bool:
    """Whether the machine has ended, which says nothing of the candidate on it."""
    return isinstance(error, TakenBackError) or _is_lost(error)


def _skip(work: Underway, visit: Visit, point: str, why: str) -> None:
    work.record(
        "skipped",
        candidate=visit.candidate,
        load_point=point,
        replication=visit.replication,
        why=why,
    )
    work.cell_done()


def _number(visit: Visit) -> str:
    return _BESIDE.get(visit.replication, str(visit.replication))


def _who(visit: Visit) -> dict[str, str | int | None]:
    number = None if visit.replication in _BESIDE else visit.replication
    return {"candidate": visit.candidate, "replication": number, "host": visit.host}

"""The campaign as a Prefect flow, from the paper vote to the report.

screened → checked → on every machine at the same time: acquired, prepared, then one launch
after another (launched → measured, cell by cell → stopped) → released → concluded → reported.

Cells are tasks, never flows of their own. A task is a name and tags around a function that
knows nothing of Prefect; what it needs comes by context, not as a parameter that Prefect would
look through. Tasks return pointers (path and SHA-256) to what they have written. Prefect caches
nothing: the run directory is the truth about what is done, and a resumption reads that. Between
the start and the end of a measuring task nothing here calls Prefect.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.states import Cancelled, Completed

from catalog.predict import Interval
from flows import (
    artifacts,
    clocks,
    closing,
    foretelling,
    opening,
    qualifying,
    searching,
    visiting,
)
from flows.calibrating import calibrate_host
from flows.errors import BudgetStop, LaunchError, RunoffError, StillBilled
from flows.host_turns import host_turn
from flows.interruption import Interrupted
from flows.measure import Pointer, measure_replication
from flows.placing import load_host, loaders
from flows.provision import acquire, describe, give_back_early, is_rented, release
from flows.search import next_rate
from flows.serving import Serving
from flows.setting_up import control
from flows.underway import Underway
from flows.whole import is_needed
from reports.run.plan_file import Visit
from reports.run.search_file import Try

_UNDERWAY: ContextVar[Underway] = ContextVar("underway")
_TAGS: ContextVar[tuple[str, ...]] = ContextVar("tags", default=())


def _step(function: Callable[..., Awaitable[Any]]) -> Any:
    """The function as a task that tags its run once it has begun.

    A task that has tags before makes Prefect ask its server for each set of them whether it
    is limited, with a thread and a client that stay: up to two seconds before a cell.
    """

    @task(cache_policy=NO_CACHE, persist_result=False)
    @wraps(function)
    async def tagged(*given: Any) -> Any:
        context = TaskRunContext.get()
        if context is not None:
            context.task_run.tags = list(_TAGS.get())
        return await function(*given)

    return tagged


def run_campaign(work: Underway) -> None:
    """Run the flow to its end, whatever ends it; what was learnt is in the run directory.

    No machine's release depends on Prefect: where that fails, what is still held goes back.
    """
    _UNDERWAY.set(work)
    try:
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            asyncio.run(_run(work))
    except Exception as error:
        if work.still_billed is not None:  # money is told before all else
            raise work.still_billed from error
        raise
    finally:
        if work.held and work.still_billed is None:
            release(work)


async def _run(work: Underway) -> None:
    named = campaign.with_options(flow_run_name=f"{work.plan.campaign} {work.plan.run}")
    state = await named(str(work.store.folder.path), return_state=True)
    if not (state.is_completed() or state.is_cancelled()):
        await state.aresult()  # raises what it ended with


@flow(name="runoff", validate_parameters=False, persist_result=False)
async def campaign(run: str) -> State[Any]:
    """From the paper vote to the report of the run in this directory."""
    del run  # Prefect shows it
    work = _UNDERWAY.get()
    with work.interruption.heard():  # Prefect takes SIGTERM for itself meanwhile
        await screened()
        await checked()
        try:
            needed = [host for host in work.hosts if is_needed(work, host)]
            if needed and await _loaders_are_ours(work):
                await _together(_on_host(work, host) for host in needed)
                if any(clocks.has_locked(work, host) for host in work.held):
                    await _repeated(work)
                await _qualified(work)
        finally:
            await released()
        await concluded()
        await reported()
    why = work.interruption.why
    return Completed() if why is None else Cancelled(message=f"ended early: {why}")


async def _together(lanes: Iterable[Awaitable[None]]) -> None:
    """Wait for all; what one ended with is raised when the others have wound down.

    Nothing is given back while another still gets machines.
    """
    for ended in await asyncio.gather(*lanes, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended


async def _loaders_are_ours(work: Underway) -> bool:
    """Whether the machines from which load comes to others are there; else nothing is."""
    try:
        for host in loaders(work):
            await _named(acquired, f"acquire {host}", host=host)(host)
    except Interrupted:
        return False
    except RunoffError as error:
        for host in work.hosts:
            work.lose_host(host, error)
        return False
    return True


async def _on_host(work: Underway, host: str) -> None:
    """All launches on one machine, one after another; what ends them ends the campaign."""
    try:
        await _named(acquired, f"acquire {host}", host=host)(host)
        await _calibrated(work, host)
        for name in work.candidates(host):
            if not work.is_given_up(name):
                await _named(prepared, f"prepare {name}", candidate=name)(name)
        await _clocks_locked(work, host)
        await _all_searched(work, host)
        for visit in work.visits(host):
            await _visited(work, visit)
    except Interrupted:
        return
    except BudgetStop as stop:
        work.end(stop, "budget")
    except RunoffError as error:
        work.lose_host(host, error)
    except BaseException:
        work.interruption.ask("a fault of runoff's own")  # the others wind down
        raise
    is_open = clocks.has_locked(work, host) or qualifying.is_open(work)
    is_done = not is_open or host in work.lost_hosts
    if is_rented(work, host) and is_done:
        await _named(given_back, f"give back {host}", host=host)(host)


async def _calibrated(work: Underway, host: str) -> None:
    """What the machine reaches, measured before anything runs there, where it is asked for."""
    if work.campaign.calibrate:
        await _named(calibrated, f"calibrate {host}", host=host)(host)


async def _clocks_locked(work: Underway, host: str) -> None:
    """The devices' clocks, locked where they hold under every candidate's load."""
    if not clocks.can_be_locked(work, host):
        return
    seen = [clocks.locked_before(work, host)]
    for name in work.candidates(host) if not seen[0] else ():
        if not work.is_given_up(name):
            async with _served(work, clocks.look_visit(work, name)) as serving:
                if serving is not None:
                    title = f"{name} clocks"
                    seen.append(await _named(looked_at, title, candidate=name)(serving, name))
    await _named(locked, f"lock {host}", host=host)(host, seen)


async def _repeated(work: Underway) -> None:
    """The winner's decision cell once more, at the clocks of production."""
    try:
        for visit in await _named(freed, "free the winner's clocks")():
            await _visited(work, visit)
    except Interrupted:
        return
    except BudgetStop as stop:
        work.end(stop, "budget")
    except RunoffError as error:
        work.progress.said(f"note: the winner's cost is that of locked clocks: {error}")


async def _qualified(work: Underway) -> None:
    """What candidates answer, beside the reference: launches of their own, after all cells."""
    try:
        for name in qualifying.order(work):
            async with _served(work, qualifying.quality_visit(work, name)) as serving:
                if serving is not None:
                    title = f"{name} quality"
                    await _named(qualified, title, candidate=name)(serving, name)
    except Interrupted:
        return
    except BudgetStop as stop:
        work.end(stop, "budget")
    except RunoffError as error:
        work.progress.said(f"note: quality is not measured: {error}")


async def _all_searched(work: Underway, host: str) -> None:
    """The highest rates of a machine's candidates, the most promising one's first."""
    for name in foretelling.most_promising_first(work, work.candidates(host)):
        if work.needs_search(name) and not work.is_given_up(name):
            await _searched(work, name)


async def _searched(work: Underway, candidate: str) -> None:
    """A launch in which a candidate's highest rate is looked for."""
    searching.begin_search(work, candidate)
    async with _served(work, searching.search_visit(work, candidate)) as serving:
        if serving is None:
            return
        tries: list[Try] = []
        guess = await _named(guessed, f"{candidate} guess", candidate=candidate)(
            serving, candidate
        )
        while guess is not None:
            expected = await asyncio.to_thread(searching.expect, work, candidate, guess, tries)
            rate = next_rate(guess, tries, expected)
            if rate is None:
                break
            name = f"{candidate} {rate:g}/s"
            tries.append(
                await _named(tried, name, candidate=candidate)(
                    serving, candidate, rate, expected
                )
            )
        searching.end_search(work, candidate, tries)


async def _visited(work: Underway, visit: Visit) -> None:
    """One launch of one candidate with the cells that are still missing."""
    todo = visiting.todo(work, visit)
    if not todo:
        return
    async with _served(work, visit, todo[0][1]) as serving:
        for position, point in todo if serving is not None else ():
            name = f"{visit.candidate} {point} {visit.replication}"
            tags = {**_who(visit), "load": point, "key": work.cell(visit, point).key}
            await _named(measured, name, **tags)(serving, visit, point, position)
        if serving is not None and visit.replication == 0:  # the load's machine is still ours
            await asyncio.to_thread(foretelling.learn_from_first_launch, work, visit.candidate)
    await artifacts.show_progress(work)


@asynccontextmanager
async def _served(
    work: Underway, visit: Visit, point: str | None = None
) -> AsyncIterator[Serving | None]:
    """The candidate's server within the block, on a host that is ours alone; None if none came.

    A server that dies, or that cannot be measured, ends the block; others go on.
    """
    who, end = _who(visit), f"{visit.candidate} {visit.replication}"
    turn = host_turn(visit.host, work.lost_slots, is_shared=work.around.has_shared_server)
    async with work.turn(load_host(work, visit.candidate)), turn:
        visiting.afford(work, visit, point)
        try:
            serving = await _named(launched, f"launch {end}", **who)(visit)
        except RunoffError as error:
            visiting.lose(work, visit, error)
            yield None
            return
        death: RunoffError | None = None
        try:
            yield serving
        except (BudgetStop, Interrupted):
            raise
        except RunoffError as error:
            death = error
        finally:
            await _named(stopped, f"stop {end}", **who)(serving, visit, death)
    if death is not None:
        visiting.lose(work, visit, death)


@_step
async def screened() -> Pointer:
    """The paper vote, as it was frozen with the plan."""
    work = _UNDERWAY.get()
    await artifacts.show_gates(work)
    return closing.pointer(work, "gates.json")


@_step
async def checked() -> int:
    """Everything that can fail later, looked at before the first step that costs."""
    return await asyncio.to_thread(opening.check, _UNDERWAY.get())


@_step
async def acquired(host: str) -> str | None:
    """The machine, ours until it is released."""
    work = _UNDERWAY.get()
    machine = await asyncio.to_thread(acquire, work, host)
    if machine is None:
        return None
    await asyncio.to_thread(describe, work, host, machine)
    await asyncio.to_thread(control, work, host)
    return machine.id


@_step
async def calibrated(host: str) -> None:
    """The machine's rates measured, and the paper vote put again with them."""
    await asyncio.to_thread(calibrate_host, _UNDERWAY.get(), host)


@_step
async def prepared(candidate: str) -> None:
    """The candidate's release, put on its machine."""
    await asyncio.to_thread(opening.make_ready, _UNDERWAY.get(), candidate)


@_step
async def launched(visit: Visit) -> Serving:
    """The candidate's server, ready."""
    return await asyncio.to_thread(visiting.serve, _UNDERWAY.get(), visit)


@_step
async def looked_at(serving: Serving, candidate: str) -> dict[int, int]:
    """The clocks that the devices hold under a candidate's load."""
    return dict(await asyncio.to_thread(clocks.look, _UNDERWAY.get(), serving, candidate))


@_step
async def locked(host: str, seen: list[dict[int, int]]) -> None:
    """The devices' clocks, locked."""
    await asyncio.to_thread(clocks.lock, _UNDERWAY.get(), host, seen)


@_step
async def freed() -> tuple[Visit, ...]:
    """Launches at the clocks of production that are still to be made."""
    return await asyncio.to_thread(clocks.repeats, _UNDERWAY.get())


@_step
async def guessed(serving: Serving, candidate: str) -> float | None:
    """What a closed loop gets done, from which a search starts."""
    return await asyncio.to_thread(searching.guess, _UNDERWAY.get(), serving, candidate)


@_step
async def tried(
    serving: Serving, candidate: str, rate_per_s: float, expected: Interval | None
) -> Try:
    """One searched rate."""
    return await asyncio.to_thread(
        searching.try_rate, _UNDERWAY.get(), serving, candidate, rate_per_s, expected
    )


@_step
async def measured(serving: Serving, visit: Visit, point: str, position: int) -> Pointer:
    """One replication of one cell, kept."""
    work = _UNDERWAY.get()
    return await asyncio.to_thread(measure_replication, work, serving, visit, point, position)


@_step
async def qualified(serving: Serving, candidate: str) -> None:
    """A candidate's answers, held against the reference's."""
    await asyncio.to_thread(qualifying.qualify, _UNDERWAY.get(), serving, candidate)


@_step
async def stopped(serving: Serving, visit: Visit, death: RunoffError | None) -> None:
    """The server's end."""
    known = death if isinstance(death, LaunchError) else None
    await asyncio.to_thread(visiting.stop, _UNDERWAY.get(), serving, visit, known)


@_step
async def given_back(host: str) -> None:
    """A rented machine that has nothing more to do, given back before all others."""
    await asyncio.to_thread(give_back_early, _UNDERWAY.get(), host)


@_step
async def released() -> None:
    """Every machine given back; what cannot be is told when all else is written."""
    work = _UNDERWAY.get()
    try:
        await asyncio.to_thread(release, work)
    except StillBilled as error:
        work.still_billed = error
    await asyncio.to_thread(work.measurers.end)


@_step
async def concluded() -> Pointer:
    """Summary, evidence checks and decision, from what is in the run directory."""
    work = _UNDERWAY.get()
    await asyncio.to_thread(closing.conclude_run, work)
    await artifacts.show_verdicts(work)
    return closing.pointer(work, "decision.json")


@_step
async def reported() -> Pointer:
    """The pages."""
    work = _UNDERWAY.get()
    await asyncio.to_thread(closing.render, work)
    await artifacts.show_report(work)
    return closing.pointer(work, "report.html")


def _who(visit: Visit) -> dict[str, str]:
    return {"candidate": visit.candidate, "replication": str(visit.replication)}


def _named(step: Any, name: str, **tags: str) -> Any:
    """The task under a name and tags of its own, by which it is found in the UI."""
    _TAGS.set(tuple(f"{key}:{text}" for key, text in tags.items()))
    return step.with_options(task_run_name=name)

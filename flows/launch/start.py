"""From a plan to a server that is ready, that is ours, and that says what it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from deploy_templates.plan import LaunchPlan
from flows.errors import LaunchError
from flows.launch import child as process
from flows.launch.ask import Address
from flows.launch.clock import Clock, SystemClock
from flows.launch.ending import KILL, end
from flows.launch.facts import LaunchFacts
from flows.launch.guard import Guard
from flows.launch.launched import Launched
from flows.launch.layout import LOG_NAME, environment_of, inherited, lay_out
from flows.launch.log import LogReader
from flows.launch.ports import require_free
from flows.launch.processes import MARK, NO_LEADER, Family
from flows.launch.running import Running
from flows.launch.secrets import Secrets, secrets_of
from flows.launch.session import Session, orders_of
from flows.launch.wait import Start, Tell
from flows.launch.watch import LogWatch


def launch(
    plan: LaunchPlan,
    folder: Path,
    *,
    environment: Mapping[str, str],
    secrets: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    progress: Tell = lambda _progress: None,
    limit_s: float | None = None,
    installed: Path | None = None,
    headers: Mapping[str, str] | None = None,
) -> Running:
    """Start the planned server and wait until it has generated a token.

    Parameters
    ----------
    folder
        Takes ``plan.json``, ``launch.json`` and, after the end, ``server.log.zst``.
    environment
        The caller's; the server sees the names that the plan inherits.
    secrets
        Values by name: the plan's ``secret_env`` are handed on, all are masked everywhere.
        Without it they are taken from ``environment``.
    progress
        Told at the start, whenever something changes, and each second.
    limit_s
        How long a start may take, instead of the plan's own limit.
    installed
        The folder that the plan's install script has filled, for plans of mode ``venv``.
    headers
        Sent with each question to the server, such as its API key.

    Raises
    ------
    LaunchError
        With the log's line or the answer that says why there is no server. Nothing of it is
        left then, as after any other exception.
    UsageError
        If the plan or the environment cannot be used.
    """
    clock = clock or SystemClock()
    hidden = secrets_of(plan, environment) if secrets is None else Secrets(secrets)
    hidden.refuse_in(plan)
    address = Address(host=plan.host, port=plan.port, headers=headers or {})
    require_free(plan.host, plan.port, f"launch of {plan.name!r}")
    limit = plan.readiness.limit_s if limit_s is None else limit_s
    session = _started(plan, folder, environment, secrets=hidden, clock=clock, venv=installed)
    facts = brought_up(session, address, limit_s=limit, progress=progress)
    return Running(session, facts, address)


def brought_up(
    session: Launched, address: Address, *, limit_s: float, progress: Tell
) -> LaunchFacts:
    """What the started server has shown once it is ready; nothing of it is left where not."""
    try:
        session.record("starting")
        facts = Start(session=session, address=address, limit_s=limit_s, tell=progress).facts()
        session.record("ready", **facts.to_json())
    except BaseException as error:  # noqa: BLE001 - nothing of it may be left, whatever came
        raise _given_up(session, error) from None
    return facts


def _started(
    plan: LaunchPlan,
    folder: Path,
    environment: Mapping[str, str],
    *,
    secrets: Secrets,
    clock: Clock,
    venv: Path | None,
) -> Session:
    """The server's process with its guard; neither without the other."""
    working = lay_out(plan, folder, venv)
    log, env = folder / LOG_NAME, inherited(plan, environment)
    mark = f"{plan.fingerprint[:8]}-{os.getpid()}-{clock.monotonic_ns()}"
    seen = {**environment_of(plan, environment, secrets), MARK: mark}
    marked = Family(leader=NO_LEADER, mark=mark)
    child: process.Child | None = None
    guard = Guard(orders_of(plan, marked))
    try:
        child = process.start(plan.argv, working, log=log, env=seen, clock=clock)
        guard.follow(child.pid)
    except BaseException:
        end(marked, KILL, clock)
        if child is not None:
            child.reap()
        guard.dismiss()
        raise
    return Session(
        plan=plan,
        folder=folder,
        child=child,
        watch=LogWatch(LogReader(log), plan, child.started_ns),
        secrets=secrets,
        clock=clock,
        env=env,
        seen_env=seen,
        guard=guard,
    )


def _given_up(session: Launched, error: BaseException) -> BaseException:
    """The error to raise after the server was ended, with a record of both."""
    stopped = session.end().to_json()
    if not isinstance(error, LaunchError):
        session.record("given up", stopped=stopped)
        return error
    told = session.told(error)
    failed = {"kind": told.kind, "where": told.where, "seen": told.seen, "do": told.do}
    session.record("failed", error=failed, stopped=stopped)
    return told

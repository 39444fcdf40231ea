"""``runoff compare``: from a campaign file, or a run that was begun, to its decision."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flows.closing import decision_of
from flows.errors import ExitCode
from flows.home import cache_folder, state_folder
from flows.interruption import Interrupted, Interruption
from flows.prefect_server import QUIET, PrefectServer, client_settings
from flows.progress import Progress
from flows.taking_up import Ask, Options, taken_up
from flows.underway import Surroundings, Underway
from reports.run import layout
from reports.run.checks_file import Checks
from reports.run.decision_file import Decision
from reports.run.read import read_file
from reports.run.summary_file import Summary

API_URL: Final = "PREFECT_API_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a campaign ended: its directory, its decision with the checks, and the exit code."""

    folder: Path
    decision: Decision
    summary: Summary
    checks: Checks
    exit_code: ExitCode
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Decision and summary as strict JSON values, with where the run is."""
        return {
            "run": str(self.folder),
            "exit_code": int(self.exit_code),
            "ended_early": self.why,
            "decision": self.decision.model_dump(mode="json"),
            "summary": self.summary.model_dump(mode="json"),
        }


def compare(
    options: Options, environment: Mapping[str, str], progress: Progress, ask: Ask
) -> Outcome:
    """Measure the campaign to its end and decide.

    Parameters
    ----------
    ask
        Whether the user agrees to pay for the plan; asked only where machines are rented.

    Raises
    ------
    RunoffError
        Where nothing was begun, or nothing could be concluded.
    """
    around = surroundings(environment, progress, keep_on_failure_s=options.keep_on_failure_s)
    # Prefect's server takes seconds to start: it does while the campaign is planned
    with _prefect(around) as ready, taken_up(options, around, ask) as work:
        from flows.campaign import run_campaign  # noqa: PLC0415 - takes a second
        from flows.secret_blocks import take_tokens  # noqa: PLC0415

        around.interruption.tells(work.owned)
        try:
            ready()
        except Interrupted:
            raise KeyboardInterrupt from None
        if around.has_shared_server:
            take_tokens(work)
        if not work.is_whole:
            run_campaign(work)
    return _outcome(work)


def surroundings(
    environment: Mapping[str, str],
    progress: Progress,
    *,
    keep_on_failure_s: float | None = None,
) -> Surroundings:
    """What a campaign that is started here runs in."""
    return Surroundings(
        environment=environment,
        cache=cache_folder(environment),
        state=state_folder(environment),
        interruption=Interruption(),
        progress=progress,
        has_shared_server=bool(environment.get(API_URL)),
        keep_on_failure_s=keep_on_failure_s,
    )


@contextmanager
def _prefect(around: Surroundings) -> Iterator[Callable[[], object]]:
    """Prefect's settings, and a server where the user names none; called, it is waited for.

    They are set before Prefect is imported, which is why nothing imports it earlier.
    """
    home = around.state / "prefect"
    if around.has_shared_server:
        os.environ.update(QUIET)
        yield lambda: None
        return
    server = PrefectServer(home, around.environment)
    os.environ.update(client_settings(home, server.url))
    try:
        yield lambda: server.wait(look=around.interruption.check)
    finally:
        server.stop()


def _outcome(work: Underway) -> Outcome:
    if work.still_billed is not None:
        raise work.still_billed
    decision = decision_of(work)
    why = work.interruption.why
    code = ExitCode(decision.exit_code)
    if work.failure is not None:
        code, why = work.failure.exit_code, str(work.failure)
    elif why is not None or work.interruption.late is not None:
        code = ExitCode.INTERRUPTED
    elif work.lost is not None:
        why = str(work.lost)
    return Outcome(
        folder=work.store.folder.path,
        decision=decision,
        summary=read_file(work.store.folder.file(layout.SUMMARY), Summary),
        checks=read_file(work.store.folder.file(layout.CHECKS), Checks),
        exit_code=code,
        why=why,
    )

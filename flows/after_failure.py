"""What a machine showed after a failed launch, fetched before the machine goes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from flows.errors import RunoffError
from flows.hosts.host import CampaignHost
from flows.machine.aftermath import aftermath, uptime_s
from flows.machine.explained import explanations
from flows.machine.found import FoundMachine
from flows.underway import Underway, utc_now
from reports.run.aftermath_file import AftermathFile
from reports.run.plan_file import Visit
from reports.run.read import file_text

_NAME: Final = "aftermath.json"
_LOGS: Final = ("server.log.zst", "server.log")


def began(host: CampaignHost) -> float | None:
    """Seconds that the machine was up when a launch began; it dates what came after."""
    return uptime_s(host.hands())


def explain(
    work: Underway, visit: Visit, launch: str, why: str, since_s: float | None
) -> tuple[str, ...]:
    """Write down what the machine shows now; causes that it tells, in words.

    A machine that cannot be asked any more explains nothing, which is no second failure.
    """
    held = work.held[visit.host]
    held.has_failed = True
    if held.host is None or work.plan.rehearsal:
        return ()
    try:
        seen = aftermath(held.host.hands(), since_s)
    except RunoffError as error:
        work.progress.said(f"note: {visit.host} does not tell why a launch failed: {error}")
        return ()
    causes = explanations(seen["kernel"] or (), held.found, FoundMachine.of(seen["devices"]))
    folder = work.launch_folder(visit)
    file = AftermathFile(
        host=visit.host,
        candidate=visit.candidate,
        launch=launch,
        seen_at=utc_now().isoformat(timespec="seconds"),
        why=why,
        explanations=[asdict(each) for each in causes],
        log=next((name for name in _LOGS if (folder / name).exists()), None),
        **seen,
    )
    path = (folder / _NAME).relative_to(work.store.folder.path)
    work.store.write(str(path), file_text(file))
    return tuple(each.words for each in causes)

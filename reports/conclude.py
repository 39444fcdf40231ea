"""From the evidence of a run to its summary, its checks and its decision."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from pydantic import BaseModel

from reports.checks import Evidence, checks_of
from reports.decide import decide
from reports.gathered import gathered
from reports.run import layout
from reports.run.checks_file import Checks
from reports.run.decision_file import Decision
from reports.run.layout import RunFolder
from reports.run.read import file_text, read_run
from reports.run.summary_file import Summary
from reports.run.write import write_whole
from reports.summary import summary_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What was measured, what the checks found, and what was decided."""

    summary: Summary
    checks: Checks
    decision: Decision


def conclude(folder: RunFolder, *, now: dt.datetime) -> Conclusion:
    """Summarise, check and decide a run, and write the three files into it.

    Only evidence is read, so that concluding again gives the same files.

    Raises
    ------
    ReportsError
        Where evidence is missing or damaged, or a file cannot be written.
    """
    run = read_run(folder.path)
    files = gathered(run)
    summary = summary_of(run, files)
    checks = checks_of(Evidence(files=files, summary=summary, today=now.date()))
    decision = decide(run.plan, summary, checks, now)
    for name, part in (
        (layout.SUMMARY, summary),
        (layout.CHECKS, checks),
        (layout.DECISION, decision),
    ):
        _write(folder, name, part)
    return Conclusion(summary=summary, checks=checks, decision=decision)


def _write(folder: RunFolder, name: str, part: BaseModel) -> None:
    write_whole(folder.file(name), file_text(part).encode())

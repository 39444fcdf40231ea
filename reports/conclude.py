"""From the evidence of a run to its summary, its checks and its decision."""

from __future__ import annotations

import datetime as dt

from pydantic import BaseModel

from reports.conclusion import Conclusion, concluded
from reports.gathered import gathered
from reports.prediction import predictions_of, scored
from reports.reevaluate.whole import reevaluation_of
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import file_text, read_run
from reports.run.write import write_whole
from reports.summary import summary_of


def conclude(folder: RunFolder, *, now: dt.datetime) -> Conclusion:
    """Summarise, check and decide a run, and write the three files into it.

    One that re-evaluates another gets the answer to that beside them, one with predictions
    how far they were off.

    Only evidence is read, so that concluding again gives the same files.

    Raises
    ------
    ReportsError
        Where evidence is missing or damaged, or a file cannot be written.
    """
    run = read_run(folder.path)
    files = gathered(run)
    found = concluded(files, summary_of(run, files), now)
    for name, part in (
        (layout.SUMMARY, found.summary),
        (layout.CHECKS, found.checks),
        (layout.DECISION, found.decision),
    ):
        _write(folder, name, part)
    score = scored(predictions_of(folder), found.summary)
    if score is not None:
        _write(folder, layout.PREDICTION_SCORE, score)
    if run.baseline is not None:
        answer = reevaluation_of(run, found.summary, found.checks, found.decision, now)
        if answer is not None:
            _write(folder, layout.REEVALUATION, answer)
    return found


def _write(folder: RunFolder, name: str, part: BaseModel) -> None:
    write_whole(folder.file(name), file_text(part).encode())

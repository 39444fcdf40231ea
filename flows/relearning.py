"""What the cells of earlier parts of a run have shown, learnt again when it is gone on with.

Without it a resumed run would measure levels above a proven miss that an undisturbed one skips.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from flows.underway import Underway
from reports.run.read import Measured, read_run


def learn_again(work: Underway) -> None:
    """Take what each kept cell says for those that follow, as when it was measured."""
    kept = {
        (each.name, each.file.replication): each
        for each in read_run(work.store.folder.path).cells
    }
    for visit in work.plan.order:
        for point in work.points(visit):
            found = kept.get((work.cell(visit, point), visit.replication))
            if found is not None:
                work.learn_cell(visit, point, _document(found), _seconds(found))


def _document(found: Measured) -> dict[str, Any]:
    """Its summary, as the load generator told it."""
    from reports.cell import observed_of, summarise  # noqa: PLC0415 - statistics take a second
    from reports.records import read_records  # noqa: PLC0415

    columns = read_records(found.records).columns
    account = json.loads(found.client.read_bytes())
    return summarise(columns, found.file.asked.settings(), observed_of(account)).to_json()


def _seconds(found: Measured) -> float:
    began, ended = (
        dt.datetime.fromisoformat(text) for text in (found.file.started_at, found.file.ended_at)
    )
    return (ended - began).total_seconds()

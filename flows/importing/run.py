"""The run directory of other tools' results."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from catalog.entries import Catalog
from catalog.schema import Campaign
from flows.importing.cells import keep
from flows.importing.plan import imported_plan
from flows.importing.sources import file_of, placed
from flows.matrix import contract_point
from flows.run_plan import gates_json, make_run_plan
from flows.store import Store, fingerprint8, run_name
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import file_text


def import_run(
    sources: Sequence[str],
    *,
    tool: str,
    campaign: Campaign,
    text: bytes,
    catalog: Catalog,
    folders: Sequence[Path],
    root: Path,
    now: dt.datetime,
) -> RunFolder:
    """Write the evidence of a run from ``NAME=FILE`` or ``FILE`` and return its folder.

    Raises
    ------
    UsageError
        For a file that cannot be read, of no candidate, or not measured as the contract asks.
    ReportsError
        For a file that the tool's importer refuses.
    """
    found = placed(sources, tool, campaign)
    made = make_run_plan(
        campaign,
        text,
        catalog,
        folders,
        now=now,
        run="",
        include_unlikely=True,
        include_unknown=True,
    )
    name = run_name(now, fingerprint8(text, made.catalog_digest))
    named = made.model_copy(update={"run": name})
    plan = imported_plan(named, found, contract_point(campaign), tool)
    with Store.create(root, campaign.name, name, now=lambda: now) as store:
        store.write_bytes(layout.CAMPAIGN, text)
        store.write(layout.PLAN, file_text(plan))
        gates = gates_json(campaign, catalog, folders, now.date())
        store.write(layout.GATES, json.dumps(gates, indent=1, sort_keys=True) + "\n")
        for source in sources:
            path = Path(file_of(source)[1])
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            store.record("imported", tool=tool, file=path.name, sha256=digest)
        for each in found:
            keep(store, plan, each)
        store.record("concluded", why="imported")
        return store.folder

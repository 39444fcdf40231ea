"""``runoff catalog``: check its facts against each other, read them, get the file schemas."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from catalog.complaints import did_you_mean
from catalog.json_schema import KINDS, json_schema
from catalog.listing import facts
from catalog.load import load_catalog
from catalog.sanity import Finding, check, check_runtimes
from deploy_templates.registry import load_runtimes
from flows.catalog_places import is_old_price, old_prices, place_of, unreadable_campaigns
from flows.catalog_view import Shelf, entry_table, kind_table, shelves, shelves_table
from flows.console import Console
from flows.errors import ExitCode, Finished, UsageError
from reports.schemas import RESULTS, result_schema
from reports.tables import Table

_FILES = (*KINDS, *RESULTS)
_MORE = (
    "List a kind with `runoff catalog show KIND`, one entry with the source of each fact "
    "with `runoff catalog show KIND NAME`."
)
app = typer.Typer(no_args_is_help=True, help="Check, show and describe the catalog.")
Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--catalog", metavar="DIR", help="Your own catalog, laid over ours; may be repeated."
    ),
]


@app.command(name="check")
def check_facts(
    catalog: Folders = None,
    today: Annotated[
        str, typer.Option(metavar="DATE", help="Judge the age of prices on this day.")
    ] = "",
) -> None:
    """Find facts that contradict each other. Exit code 2 on errors, 0 with warnings."""
    day, folders = _day(today), tuple(catalog or ())
    loaded = load_catalog(folders)
    findings = [*check(loaded, day), *check_runtimes(load_runtimes(folders))]
    broken = unreadable_campaigns(folders)
    for error in broken:
        sys.stdout.write(f"{error.where}: error: {error.seen}. {error.do}\n")
    for finding in findings:
        if not is_old_price(finding):
            sys.stdout.write(f"{_sentence(finding, place_of(finding, loaded, folders))}\n")
    for line in old_prices(findings, loaded, day):
        sys.stdout.write(f"{line}\n")
    errors = len(broken) + sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) + len(broken) - errors
    counts = f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}"
    sys.stdout.write(f"{counts} on {day.isoformat()}\n")
    if errors:
        raise Finished(ExitCode.USAGE)


@app.command()
def show(
    kind: Annotated[str, typer.Argument(help="devices, links, models, offers, runtimes")] = "",
    name: Annotated[str, typer.Argument(help="One entry, with all its facts.")] = "",
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON on standard output.")
    ] = False,
    catalog: Folders = None,
) -> None:
    """Show what the catalog knows: value, basis, source, date, and whose it is."""
    held = shelves(tuple(catalog or ()))
    if not kind:
        _write(shelves_table(held), {s.kind: len(s.entries) for s in held}, as_json=as_json)
        if not as_json:
            Console(sys.stdout).paragraphs([_MORE], indent="")
        return
    shelf = _shelf(held, kind)
    if not name:
        _write(kind_table(shelf), shelf.to_json(), as_json=as_json)
        return
    found = shelf.find(name)
    entry = shelf.entries[found]
    notes = getattr(entry, "notes", ())
    details = shelf.entry_json(found) | {
        "facts": [fact.to_json() for fact in facts(entry)],
        "notes": list(notes),
    }
    _write(entry_table(shelf, found), details, as_json=as_json)
    if notes and not as_json:
        Console(sys.stdout).paragraphs(["", *notes], indent="")


@app.command()
def schema(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(_FILES)}.")] = "campaign",
) -> None:
    """Print the JSON Schema of a kind of file, for editors and other tools."""
    if kind not in _FILES:
        raise UsageError("schema", f"there is no kind {kind!r}", did_you_mean(kind, _FILES))
    found = json_schema(kind) if kind in KINDS else result_schema(kind)
    sys.stdout.write(json.dumps(found, indent=2, allow_nan=False) + "\n")


def _sentence(finding: Finding, place: str) -> str:
    """One line: ``file:line``, severity, entry and field, what was seen, what to do."""
    where = f"{place}: " if place else ""
    field = f", {finding.field}" if finding.field else ""
    subject = f"{finding.kind} {finding.name}{field}"
    return f"{where}{finding.severity}: {subject}: {finding.seen}. {finding.do}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _shelf(held: Sequence[Shelf], kind: str) -> Shelf:
    """The shelf of a kind, in singular or plural."""
    for shelf in held:
        if kind in (shelf.kind, shelf.kind.removesuffix("s")):
            return shelf
    kinds = [shelf.kind for shelf in held]
    raise UsageError("show", f"there is no kind {kind!r}", did_you_mean(kind, kinds))


def _write(table: Table, value: object, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
    else:
        Console(sys.stdout).table(table)


def _day(text: str) -> dt.date:
    if not text:
        return dt.datetime.now(dt.UTC).date()
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise UsageError(
            "--today", f"{text!r} is not a date", "Write it as 2026-08-22"
        ) from None

"""``runoff diff``: what differs between two runs, and why the decision is another one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.console import Console
from flows.run_directory import refuse_unfinished, run_at

if TYPE_CHECKING:
    from reports.diff import RunDiff


def command(
    a: Annotated[Path, typer.Argument(metavar="A", help="Directory of the earlier run.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Directory of the later run.")],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON on standard output.")
    ] = False,
) -> None:
    """Compare two runs: contract, candidates, launches, prices, hosts, results, decision.

    A ratio has an interval over the launches of both runs; better and worse mean that it is
    clear of 5%. Ends with 0 whatever differs.
    """
    from flows.diff_view import show_diff  # noqa: PLC0415 - help starts without it
    from reports.diff import diff_runs  # noqa: PLC0415 - help starts without it

    earlier, later = run_at(a), run_at(b)
    for each in (earlier, later):
        refuse_unfinished(each.folder)
    found = diff_runs(earlier, later)
    if as_json:
        sys.stdout.write(json.dumps(_json(found), indent=1, allow_nan=False) + "\n")
        return
    show_diff(Console(sys.stdout), found)


def _json(found: RunDiff) -> dict[str, Any]:
    compared = [
        {
            **{name: getattr(each, name) for name in each.__slots__ if name not in "ab"},
            "a": None if each.a is None else each.a.model_dump(mode="json"),
            "b": None if each.b is None else each.b.model_dump(mode="json"),
        }
        for each in found.compared
    ]
    return {
        "schema_version": 1,
        "a": found.a,
        "b": found.b,
        "differences": [asdict(each) for each in found.differences],
        "compared": compared,
        "is_decision_changed": found.is_decision_changed,
        "reasons": list(found.reasons),
    }

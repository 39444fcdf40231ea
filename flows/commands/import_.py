"""``runoff import``: another tool's results as a run that can be compared, never signed."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Annotated

import typer

from catalog.load import load_campaign, load_catalog, located
from catalog.store import S3
from flows.errors import UsageError
from reports.interop import tools


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...", help="Result files, with their candidate's name."
        ),
    ],
    *,
    campaign: Annotated[
        Path, typer.Option(metavar="FILE", help="The campaign whose contract they are held to.")
    ],
    tool: Annotated[
        str, typer.Option(metavar="|".join(tools()), help="Whose files they are.")
    ] = "vllm-bench",
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where runs lie; default: the campaign's."),
    ] = None,
) -> None:
    """Make a run of result files: by our definitions, stamped IMPORTED, never to be signed.

    Without NAME= the label in a file, or the only candidate, says whose it is.
    """
    from flows.importing import import_run  # noqa: PLC0415 - help starts without it
    from reports.conclude import conclude  # noqa: PLC0415 - help starts without it
    from reports.render import render_run  # noqa: PLC0415 - help starts without it

    now = dt.datetime.now(dt.UTC)
    stated = load_campaign(campaign)
    folders = tuple(catalog or ())
    if store is None and stated.store.startswith(S3):
        raise UsageError(stated.store, "results are imported into a folder", "Give --store DIR")
    with located(campaign):
        folder = import_run(
            files,
            tool=tool,
            campaign=stated,
            text=_text(campaign),
            catalog=load_catalog(folders),
            folders=folders,
            root=store or Path(stated.store),
            now=now,
        )
    found = conclude(folder, now=now)
    render_run(folder, now=now)
    sys.stdout.write(f"{found.decision.stamp}: {found.decision.sentence}\n{folder.path}\n")


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(str(path), f"cannot be read: {error.strerror}", "") from None

"""``runoff up``: Prefect's server, a worker and the forms, for a single machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.home import state_folder


def command(
    campaigns: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[CAMPAIGN]...",
            help="Campaign files that get entries of their own.",
            show_default=False,
        ),
    ] = None,
    *,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of the UI and the API.")] = 4200,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where it listens; else this machine alone.")
    ] = "127.0.0.1",
) -> None:
    """Run a Prefect server, a worker and the forms until Ctrl-C.

    Flows run, and runs go, in this folder. Add schedules with runoff deploy.
    """
    from flows.deployments import forms, of_campaign  # noqa: PLC0415 - help starts without
    from flows.offering import offered, register_at  # noqa: PLC0415
    from flows.prefect_server import PASSWORD, Shown  # noqa: PLC0415
    from flows.upkeep import POOL, alone, keep_up  # noqa: PLC0415

    files = tuple(campaigns or ())
    entries = [
        of_campaign("compare", each.name, {"campaign": each.file}, None, keeps=True)
        for each in offered(files)
    ]

    def register(api_url: str) -> None:
        register_at(
            api_url,
            (*forms(), *entries),
            files,
            pool=POOL,
            pool_type="process",
            folder=Path.cwd(),
            job_variables={},
        )

    if host not in {"127.0.0.1", "::1", "localhost"} and PASSWORD not in os.environ:
        _say(
            "note: whoever reaches this address can start runs, at your cost; "
            f"set {PASSWORD} to user:secret"
        )
    with alone(state_folder(os.environ)) as place:
        keep_up(place, Shown(host=host, port=port), os.environ, register, _say)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()

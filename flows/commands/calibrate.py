"""``runoff calibrate``: measure what a host reaches, in the place of what is assumed."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from flows.calibrate.order import SHORT, Manner


def command(
    host: Annotated[
        str,
        typer.Argument(
            metavar="HOST",
            help="local, ssh:NAME, or a candidate or machine of --campaign.",
        ),
    ] = "local",
    *,
    campaign: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The campaign that HOST is of.")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Fewer and shorter repetitions, arrays as large.")
    ] = False,
    exploratory: Annotated[
        bool,
        typer.Option("--exploratory", help="Keep it even where others disturb it, and say so."),
    ] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="A Python on HOST with NumPy or PyTorch, tried first; may be repeated.",
        ),
    ] = None,
    gguf: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="A model on HOST, for its llama-bench."),
    ] = None,
    catalog_out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write devices and links as a catalog of your own."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the calibration there too.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The calibration as JSON on standard output.")
    ] = False,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
) -> None:
    """Measure memory, arithmetic and links of HOST, and keep the figures for its gates.

    Exit code 7 where others disturbed it, 8 where nothing could be measured.
    """
    from flows.calibrate.calling import Asked, calibrate  # noqa: PLC0415 - much is imported

    manner = replace(
        SHORT if short else Manner(),
        exploratory=exploratory,
        pythons=tuple(python or ()),
        gguf=gguf,
    )
    calibrate(
        Asked(
            host=host,
            campaign=campaign,
            manner=manner,
            catalog_out=catalog_out,
            out=out,
            as_json=as_json,
            folders=tuple(catalog or ()),
        ),
        os.environ,
        sys.stdout,
        sys.stderr,
    )

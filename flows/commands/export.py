"""``runoff export``: a run in the form that the next one needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from deploy_templates.deployments import ways
from flows.errors import UsageError
from flows.run_directory import RunArgument, run_at
from reports.bundle import write_bundle
from reports.manifest import manifest_sha256
from reports.run.read import Run
from reports.run.write import write_whole


def command(
    run: RunArgument,
    *,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="One .zip or .tar with a verify.py in it."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Requests, cells and candidates as CSV."),
    ] = None,
    launch: Annotated[
        str | None,
        typer.Option(metavar="|".join(ways()), help="The winner's exact launch, kept running."),
    ] = None,
    vllm_bench: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="All cells as results of vllm bench serve."),
    ] = None,
    decision_record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The decision as Markdown to commit beside code."),
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For --launch and --vllm-bench: only this one."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where --launch writes its files.")
    ] = Path("deployment"),
) -> None:
    """Write a run as one file, as CSV, as a deployment, for another tool, or as a record.

    Overwrites nothing.
    """
    from flows.handing_on import foreign_text, launch_files  # noqa: PLC0415 - help starts without it

    asked = (bundle, csv, launch, vllm_bench, decision_record)
    if all(each is None for each in asked):
        raise UsageError("export", "nothing is asked for", "Give --bundle, --launch or another")
    found = run_at(run)
    # whatever can be refused is, before the first file is written
    texts: dict[Path, str] = {}
    if csv is not None:
        _require_no_csv(csv)
    if launch is not None:
        texts |= launch_files(found, launch, out, candidate)
    if vllm_bench is not None:
        texts[_new(vllm_bench)] = foreign_text(found, "vllm-bench", candidate)
    if decision_record is not None:
        texts[_new(decision_record)] = _record(found)
    if bundle is not None:
        files = write_bundle(found.folder, bundle)
        _said(bundle, f"{files} files; python3 verify.py proves them")
    if csv is not None:
        _write_csv(found, csv)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode(), is_new=True)
        _said(path)


def _require_no_csv(folder: Path) -> None:
    from reports.frames import NAMES  # noqa: PLC0415 - only this option needs pandas

    for name in NAMES:
        if (folder / f"{name}.csv").exists():
            raise UsageError(
                str(folder / f"{name}.csv"), "this file exists", "Choose another folder"
            )


def _write_csv(run: Run, folder: Path) -> None:
    from reports.frames import write_csv  # noqa: PLC0415 - only this option needs pandas

    for path in write_csv(run, folder):
        _said(path)


def _record(run: Run) -> str:
    from flows.handing_on import refuse_changed  # noqa: PLC0415 - help starts without it
    from flows.signing import read_signoff  # noqa: PLC0415 - help starts without it
    from reports import decision_record as record  # noqa: PLC0415 - help starts without it

    refuse_changed(run)
    return record.decision_record(
        run.plan, run.decision, read_signoff(run.folder), manifest_sha256(run.folder)
    )


def _new(path: Path) -> Path:
    if path.exists():
        raise UsageError(str(path), "this file exists", "Choose another place")
    return path


def _said(path: Path, what: str = "") -> None:
    sys.stdout.write(f"wrote {path}" + (f" ({what})\n" if what else "\n"))

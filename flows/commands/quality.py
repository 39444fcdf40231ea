"""``runoff quality``: whether answers are as good as a reference's."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from flows.errors import ExitCode, Finished, UsageError
from flows.unbreakable import reader_may_leave

if TYPE_CHECKING:
    from reports.run.quality_file import QualityFile

_CODES: Final = {
    "holds": ExitCode.DECIDED,
    "misses": ExitCode.NONE_COMPLIES,
    "inconclusive": ExitCode.INCONCLUSIVE,
}


def command(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN|CAMPAIGN]",
            help="Directory of a run, or a campaign file: its newest run.",
            show_default=False,
        ),
    ] = None,
    *,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="A completions call to be judged.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="URL", help="The one that it is held against.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name that both serve.")
    ] = None,
    reference_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The reference's, where it is another.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable that holds the API key.")
    ] = None,
    reference_api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="The same of the reference.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK|file:JSONL",
            help="A task of lm-evaluation-harness, or questions; may be repeated.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Questions of each task. Default: all.")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0, metavar="POINTS", help="Loss that counts as none.")
    ] = 1.0,
    greedy: Annotated[
        float,
        typer.Option(min=0, max=100, metavar="%", help="Least share of equal clear tokens."),
    ] = 95.0,
    kl: Annotated[
        float, typer.Option(min=0, metavar="NATS", help="Largest mean divergence.")
    ] = 0.05,
    answer_tokens: Annotated[
        int, typer.Option(min=8, max=1024, help="Tokens of each answer on the fixed set.")
    ] = 32,
    concurrency: Annotated[int, typer.Option(min=1, help="Prompts in flight.")] = 16,
    vocabulary: Annotated[
        int | None,
        typer.Option(
            min=64, help="Prompts are token ids of one of that size: for random weights."
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, metavar="S")] = 600.0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the record and its tables there.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The record as JSON on standard output.")
    ] = False,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Of a run: your own catalog; may be repeated."),
    ] = None,
) -> None:
    """Hold answers against a reference's: of a run's candidates, or of two endpoints.

    Exit code 0: they hold; 4: they are proven to lose more than allowed; 5: inconclusive.
    """
    if run is not None:
        if endpoint is not None or reference is not None:
            raise UsageError(str(run), "a run and --endpoint were given", "Give one of them")
        _of_run(run, tuple(catalog or ()), as_json=as_json)
        return
    if endpoint is None or reference is None or model is None:
        raise UsageError(
            "quality",
            "there is nothing to compare",
            "Give a run, or --endpoint, --reference and --model",
        )
    from flows.progress import progress_for  # noqa: PLC0415 - help starts without it
    from flows.quality.comparing import (  # noqa: PLC0415
        Pair,
        Side,
        compared,
        write_record,
    )
    from flows.underway import utc_now  # noqa: PLC0415
    from reports.run.plan_file import AgreementFacts, QualityFacts  # noqa: PLC0415

    limits = AgreementFacts(greedy=greedy / 100, kl=kl, answer_tokens=answer_tokens)
    tasks = tuple(dict.fromkeys(task or ()))
    pair = Pair(
        candidate=Side(url=endpoint, model=model, api_key_env=api_key_env),
        reference=Side(
            url=reference,
            model=reference_model or model,
            api_key_env=reference_api_key_env,
        ),
        asked=QualityFacts(
            reference=reference,
            margin_points=margin,
            tasks=tasks,
            samples=samples,
            agreement=None if tasks else limits,
        ),
        concurrency=concurrency,
        vocabulary=vocabulary,
        timeout_s=timeout,
    )
    progress = progress_for(sys.stderr, os.environ, utc_now)
    made = compared(pair, os.environ, progress.said, utc_now)
    if out is not None:
        write_record(made, out)
    _show((made.file,), as_json=as_json)


def _of_run(run: Path, folders: tuple[Path, ...], *, as_json: bool) -> None:
    """Measure what a run lacks of quality, conclude it again, show what there is."""
    from flows.compare import compare  # noqa: PLC0415 - much is imported there
    from flows.compare_view import agreed  # noqa: PLC0415
    from flows.progress import progress_for  # noqa: PLC0415
    from flows.taking_up import Options  # noqa: PLC0415
    from flows.underway import utc_now  # noqa: PLC0415
    from reports.run import layout  # noqa: PLC0415
    from reports.run.quality_file import QualityFile  # noqa: PLC0415

    is_run = run.is_dir()
    outcome = compare(
        Options(
            campaign=run / layout.CAMPAIGN if is_run else run,
            resume=str(run.resolve()) if is_run else "latest",
            folders=folders,
            for_quality=True,
        ),
        os.environ,
        progress_for(sys.stderr, os.environ, utc_now),
        agreed,
    )
    found = [
        QualityFile.model_validate(each.quality)
        for each in outcome.summary.candidates
        if each.quality is not None
    ]
    if not found:
        raise UsageError(
            str(run),
            "quality was not measured",
            "See the reason in its report, and go on with runoff compare … --resume",
        )
    _show(found, as_json=as_json)


def _show(files: tuple[QualityFile, ...] | list[QualityFile], *, as_json: bool) -> None:
    from flows.console import Console  # noqa: PLC0415
    from reports.quality_tables import (  # noqa: PLC0415
        agreement_table,
        quality_notes,
        task_table,
    )

    with reader_may_leave(sys.stdout):
        if as_json:
            plain = [each.model_dump(mode="json") for each in files]
            sys.stdout.write(json.dumps(plain, indent=1, sort_keys=True) + "\n")
        else:
            console = Console(sys.stdout)
            console.table(agreement_table(files))
            tasks = task_table(files)
            if tasks is not None:
                console.table(tasks)
            for note in quality_notes(files):
                sys.stdout.write(f"{note}\n")
    worst = {each.verdict for each in files}
    for verdict in ("misses", "inconclusive"):
        if verdict in worst:
            raise Finished(_CODES[verdict])

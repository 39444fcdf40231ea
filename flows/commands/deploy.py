"""``runoff deploy``: the verbs on a Prefect server, with forms and schedules."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from flows.deployments import Deployment, forms, of_campaign, schedule_of, seconds
from flows.errors import UsageError
from flows.home import state_folder
from reports.run.baseline_file import Versions

_API_URL = "PREFECT_API_URL"


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
    api_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The server's API; else PREFECT_API_URL, or runoff up's."
        ),
    ] = None,
    pool: Annotated[str, typer.Option(metavar="NAME", help="Work pool.")] = "runoff",
    pool_type: Annotated[
        str, typer.Option(metavar="TYPE", help="Its type: process, docker, kubernetes, …")
    ] = "process",
    job_variable: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="What the pool's type takes; may be repeated."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where flows run, and runs go; else this folder."),
    ] = None,
    cron: Annotated[
        str | None, typer.Option(metavar="LINE", help="Schedule, as in '0 6 * * 1'.")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Of --cron, as in Europe/Berlin.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="TIME", help="Schedule by an interval, as in 12h.")
    ] = None,
    late: Annotated[
        str, typer.Option(metavar="TIME", help="A run that begins so late is skipped.")
    ] = "15m",
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Re-evaluate against this run, not compare."),
    ] = None,
    prices_only: Annotated[
        bool, typer.Option("--prices-only", help="With --baseline: measure nothing.")
    ] = False,
    notify: Annotated[
        str | None, typer.Option(metavar="BLOCK", help="With --baseline: tell by this block.")
    ] = None,
    versions: Annotated[
        str | None,
        typer.Option(metavar="latest-known|pinned", help="With --baseline: which releases."),
    ] = None,
    tell_failures: Annotated[
        str | None,
        typer.Option(metavar="BLOCK", help="The server tells by this block when a run fails."),
    ] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="As compare has it.")] = False,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="As compare has it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Rent the machines.")] = False,
    include_unlikely: Annotated[
        bool, typer.Option("--include-unlikely", help="As compare has it.")
    ] = False,
    include_unknown: Annotated[
        bool, typer.Option("--include-unknown", help="As compare has it.")
    ] = False,
    allow: Annotated[
        list[int] | None,
        typer.Option(metavar="CODE", help="Counts as Completed; may be repeated."),
    ] = None,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Your own catalog, laid over ours; may be repeated."),
    ] = None,
    sweep_every: Annotated[
        str | None, typer.Option(metavar="TIME", help="Sweep machines left behind, as in 15m.")
    ] = None,
) -> None:
    """Register compare, reevaluate, signoff and sweep on a Prefect server.

    Each has a form there. CAMPAIGNS get entries that are filled in already, with the schedule.
    """
    schedule = schedule_of(cron, timezone, every)
    files = tuple(campaigns or ())
    if not files:
        _refuse_without_campaign(schedule, baseline)
    if baseline is None and (prices_only or notify is not None or versions is not None):
        where = "--prices-only, --notify and --versions"
        raise UsageError(where, "there is no --baseline", "Give it")
    if versions not in {None, *get_args(Versions)}:
        known = " or ".join(get_args(Versions))
        raise UsageError(f"--versions {versions}", "it is unknown", f"Give {known}")
    parameters = _parameters(
        rehearse=rehearse,
        budget_usd=budget_usd,
        yes=yes,
        include_unlikely=include_unlikely,
        include_unknown=include_unknown,
        allow=allow,
        catalog=[str(each.resolve()) for each in catalog or ()],
        skip_when_late_min=seconds("--late", late) / 60,
    )
    if baseline is not None:
        place = Path(baseline)
        parameters["baseline"] = str(place.resolve()) if place.is_dir() else baseline
        parameters |= _parameters(prices_only=prices_only, notify=notify, versions=versions)
    sweep = schedule_of(None, None, sweep_every)
    from flows.offering import offered, register_at  # noqa: PLC0415 - reads the catalog

    entries = [
        of_campaign(
            "compare" if baseline is None else "reevaluate",
            each.name,
            {"campaign": each.file, **parameters},
            schedule,
        )
        for each in offered(files)
    ]
    _refuse_same_names([each.name for each in entries])
    from flows.notifications import API_URL, check_block  # noqa: PLC0415

    url = _address(api_url)
    blocks = {"--notify": notify, "--tell-failures": tell_failures}
    for option, block in blocks.items():
        if block is not None:
            check_block(block, {API_URL: url}, option=option)
    done = register_at(
        url,
        (*forms(sweep), *entries),
        files,
        pool=pool,
        pool_type=pool_type,
        folder=(folder or Path()).resolve(),
        job_variables=dict(map(_pair, job_variable or ())),
        blocks=[block for block in blocks.values() if block is not None],
    )
    for name in done:
        sys.stdout.write(f"{name}\n")
    if tell_failures is not None:
        from flows.automations import tell_of_failures  # noqa: PLC0415 - Prefect is set up now

        sys.stderr.write(f"automation {tell_of_failures(url, tell_failures, done)!r}\n")
    _tell_schedules((*forms(sweep), *entries))
    sys.stderr.write(f"at {url}, {_run_by(url, pool, pool_type)}\n")


def _tell_schedules(entries: Sequence[Deployment]) -> None:
    for each in entries:
        if each.schedule is not None:
            sys.stderr.write(f"schedule of {each.name}: {each.schedule}\n")


def _run_by(url: str, pool: str, pool_type: str) -> str:
    """Whose worker runs it: that of runoff up, or one to be started, and how."""
    from flows.upkeep import POOL, running  # noqa: PLC0415

    up = running(state_folder(os.environ))
    if up is not None and up.api_url == url and pool == POOL:
        return "run by the worker of runoff up"
    words = [f"{_API_URL}={url}", *("prefect", "worker", "start")]
    start = shlex.join([*words, "--pool", pool, "--type", pool_type])
    return f"run by workers of pool {pool!r}: {start}"


def _parameters(**given: Any) -> dict[str, Any]:
    """What was given; the form has its own defaults for the rest."""
    return {name: value for name, value in given.items() if value not in (None, False, [])}


def _refuse_without_campaign(*campaign_only: object) -> None:
    if any(each is not None for each in campaign_only):
        raise UsageError(
            "--cron, --every and --baseline", "no campaign is named", "Name its file as well"
        )


def _refuse_same_names(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            ", ".join(twice), "two files have a campaign of this name", "Rename one of them"
        )


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise UsageError(f"--job-variable {text!r}", "it has no value", "Write KEY=VALUE")
    return key, value


def _address(given: str | None) -> str:
    """The server that is meant, in this order: the flag, the environment, runoff up's."""
    from flows.upkeep import running  # noqa: PLC0415

    url = given or os.environ.get(_API_URL)
    if url:
        return url
    up = running(state_folder(os.environ))
    if up is None:
        raise UsageError(
            "runoff deploy",
            "no Prefect server is named, and runoff up does not run in this home",
            f"Give --api-url, set {_API_URL}, or start runoff up",
        )
    return up.api_url

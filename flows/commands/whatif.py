"""``runoff whatif``: what a run's evidence would decide under other conditions."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from flows.console import Console
from flows.errors import UsageError
from flows.run_directory import RunArgument, refuse_changed, run_at
from flows.whatif_arguments import (
    point_at,
    point_named,
    read_demand,
    read_prices,
    read_rate,
    read_slo,
)

if TYPE_CHECKING:
    from reports.run.read import Run
    from reports.whatif import Asked


def command(
    run: RunArgument,
    *,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CANDIDATE|OFFER=PRICE",
            help="Another price: B=3.20/h, OFFER=€3.10/h, API=0.45/Mtok, or none (not known); "
            "may be repeated.",
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="R", help="Judge at this rate: 8 or 480/min.")
    ] = None,
    load: Annotated[
        str | None, typer.Option(metavar="POINT", help="Judge at this load point: closed-8.")
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help="Other limits: ttft=800,tpot=25,goodput=95%,percentile=99 (ms; none drops "
            "one; itl, ttfa, p95_gap, max_gap too).",
        ),
    ] = None,
    demand: Annotated[
        str | None,
        typer.Option(
            metavar="TRAFFIC", help="Size fleets for peak=8,mean=3,headroom=20%,spare=1; none."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Both decisions as JSON on standard output.")
    ] = False,
) -> None:
    """Decide a run again under other prices, limits, traffic or load; nothing is measured.

    Only measured loads answer: another rate is told from those around it, or is unknown.
    Nothing is written, and the answer, stamped WHAT-IF, cannot be signed. Ends with 0 whatever
    the answer is; with 7 for a run that is not what its manifest says.
    """
    from flows.whatif_view import document, show_whatif  # noqa: PLC0415 - help starts without
    from reports.whatif import suppose  # noqa: PLC0415 - help starts without scipy

    if rate is not None and load is not None:
        raise UsageError("--rate and --load", "both name a load", "Give one of them")
    stored = run_at(run)
    refuse_changed(stored.folder)
    asked = _asked(stored, price or [], rate, load, slo=slo, demand=demand)
    found = suppose(stored, asked)
    if as_json:
        plain = document(found).model_dump(mode="json")
        sys.stdout.write(json.dumps(plain, indent=1, allow_nan=False) + "\n")
    else:
        show_whatif(Console(sys.stdout), found)


def _asked(
    run: Run,
    prices: list[str],
    rate: str | None,
    load: str | None,
    *,
    slo: str | None,
    demand: str | None,
) -> Asked:
    from reports.whatif import Asked  # noqa: PLC0415 - help starts without scipy
    from reports.whatif.rates import measured_points, points_at  # noqa: PLC0415

    plan = run.plan
    if (rate or load) and plan.matrix.decision_point is None:
        raise UsageError(
            "--rate" if rate else "--load",
            "the run's contract is for work done, judged over every closed level",
            "Leave it out",
        )
    per_s = None if rate is None else read_rate(rate, f"--rate {rate}")
    point = None if load is None else point_named(measured_points(run.summary), load)
    if per_s is not None and rate is not None:
        point = point_at(points_at(run.summary, per_s), rate)
    traffic = None if demand is None else read_demand(demand, plan)
    return Asked(
        prices=read_prices(prices, plan),
        slo=None if slo is None else read_slo(slo, plan),
        demand=traffic,
        without_demand=demand is not None and traffic is None,
        point=point,
        rate_per_s=per_s if point is None else None,
    )

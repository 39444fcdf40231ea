"""A launch plan on a terminal or a pipe: commands, controlled variables, doubts, needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from deploy_templates.controlled import shown
from deploy_templates.plan import Controlled, LaunchPlan
from flows.console import Console
from flows.launch_plans import Planned, SharedNeed
from reports.tables import Cell, Column, Table

_VARIABLES = ("variable", "asked", "rendered", "read back")
_UNMADE = "(without the digest of the dummy weights, which a run makes: a run's will differ)"
_NEEDS = ("kind", "name", "release", "digest", "why", "for")


def show_plans(console: Console, plans: Sequence[Planned]) -> None:
    """Each candidate's launch: command, variables, doubts, what is not managed."""
    for one in plans:
        if one.problem:
            console.heading(f"{one.name}: cannot be launched as stated")
            console.paragraphs((one.problem,))
        elif one.plan is None:
            console.heading(f"{one.name}: measured as it stands")
            console.paragraphs(one.endpoints)
        else:
            _show_plan(console, one, one.plan)


def show_needs(console: Console, needs: Iterable[SharedNeed]) -> None:
    """Every image, wheel, program, checkpoint and address, with who wants it."""
    rows = tuple(
        tuple(
            Cell(text=text)
            for text in (
                shared.need.kind,
                shared.need.name,
                shared.need.version or "–",
                _short(shared.need.digest),
                shared.need.reason,
                ", ".join(shared.candidates),
            )
        )
        for shared in needs
    )
    console.table(Table(title="Needed", columns=_columns(_NEEDS), rows=rows))


def _show_plan(console: Console, one: Planned, plan: LaunchPlan) -> None:
    times = f", {one.replicas} replicas on the host" if one.replicas > 1 else ""
    simulated = ", a simulation" if plan.simulation else ""
    form = plan.form if plan.form == plan.mode else f"{plan.form}, {plan.mode}"
    console.heading(f"{one.name}: {plan.runtime} {plan.version} ({form}){times}{simulated}")
    yet = f" {_UNMADE}" if one.is_digest_open else ""
    console.paragraphs((f"fingerprint {plan.fingerprint}{yet}",))
    console.paragraphs(f"{name}={shlex.quote(text)}" for name, text in plan.env.items())
    console.paragraphs((shlex.join(plan.argv),))
    if len(plan.files) > 1:
        console.paragraphs((f"files: {', '.join(sorted(plan.files))}",))
    rows = tuple(_variable(name, entry) for name, entry in plan.controlled.items())
    console.table(Table(title="Controlled variables", columns=_columns(_VARIABLES), rows=rows))
    console.paragraphs(f"threat: {threat}" for threat in plan.threats)
    console.paragraphs(_unmanaged(plan))


def _variable(name: str, entry: Controlled) -> tuple[Cell, ...]:
    asked = "–" if entry.asked is None else shown(entry.asked)
    rendered = shlex.join(entry.rendered) or entry.note or entry.how
    if entry.how == "threat":
        rendered = f"threat: {entry.note}"
    return (
        Cell(text=name),
        Cell(text=asked),
        Cell(text=rendered, meaning="warn" if entry.how == "threat" else ""),
        Cell(text=_source(entry.read_back), meaning="" if entry.read_back else "none"),
    )


def _source(read_back: str | None) -> str:
    """Where it is read: the log, or the page of the server (the plan's JSON has the key)."""
    if read_back is None:
        return "–"
    dialect, _, place = read_back.partition(" ")
    return dialect if dialect == "log" else place.partition(" ")[0]


def _unmanaged(plan: LaunchPlan) -> Iterator[str]:
    own = plan.unmanaged
    if own.image is not None:
        yield f"unmanaged image: {own.image}"
    if own.extra_args:
        yield f"unmanaged arguments: {shlex.join(own.extra_args)}"
    for name, text in own.extra_env.items():
        yield f"unmanaged environment: {name}={shlex.quote(text)}"


def _columns(titles: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(title=title) for title in titles)


def _short(digest: str | None) -> str:
    """The first of several digests, cut as people compare them."""
    if digest is None:
        return "–"
    first, *others = digest.split(",")
    more = f" and {len(others)} more" if others else ""
    return f"{first[:19]}…{more}"

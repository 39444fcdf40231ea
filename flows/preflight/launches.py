"""Launches: that they render, and that what they need is here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deploy_templates.plan import LaunchPlan, Need
from flows.launch_plans import Planned, shared_needs
from flows.preflight.finding import Finding, blocks, of_error, warns
from flows.preflight.probes import Probes
from flows.preflight.question import Question, Subject


def launch_findings(question: Question, probes: Probes) -> Iterator[Finding]:
    """What stands in the way of the servers that are to be started."""
    for subject in question.subjects:
        if subject.refusal is not None:
            yield of_error(subject.refusal)
        elif subject.plan is not None:
            yield from _weights(subject, subject.plan, question, probes)
            if subject.is_local:
                yield from _port(subject, subject.plan, probes)
    yield from _needs(question, probes)
    yield from _environments(question, probes)


def _weights(
    subject: Subject, plan: LaunchPlan, question: Question, probes: Probes
) -> Iterator[Finding]:
    stated = subject.candidate.checkpoint
    if plan.simulation or stated == "dummy":
        return
    where = f"{subject.where}, checkpoint"
    if stated != "hub":
        if subject.is_local and not probes.exists(stated):
            yield blocks(where, f"there is no {stated}", "Give the path of a checkpoint")
        return
    if subject.loads_files:
        yield blocks(
            where,
            f"{plan.runtime} loads a file and fetches nothing by name",
            "Give the path of a .gguf file, or dummy",
        )
        return
    name = next((need.name for need in plan.needs if need.kind == "checkpoint"), "")
    tokens = [each for each in plan.secret_env if not probes.environment.get(each)]
    if question.campaign.mirrors.hub is not None:
        return  # the site's own copy asks for no token of the hub's
    if subject.gated and tokens:
        yield blocks(
            where,
            f"{name} is gated: its licence must be accepted, and {tokens[0]} is not set",
            f"Accept it on the hub, then export {tokens[0]} with a token of that account",
        )
    elif subject.gated:
        yield warns(
            where,
            f"{name} is gated: the account of the token must have accepted its licence",
            "Accept it on the hub before machines are paid for",
        )
    elif subject.gated is None and tokens:
        yield warns(
            where,
            f"the catalog does not know whether {name} is gated, and {tokens[0]} is not set",
            f"Look at its page on the hub; if it is, export {tokens[0]}",
        )


def _port(subject: Subject, plan: LaunchPlan, probes: Probes) -> Iterator[Finding]:
    """Only a port that the file states must be free now; others are chosen at the launch."""
    if "port" not in subject.candidate.settings:
        return
    refused = probes.taken(plan.host, plan.port)
    if refused is not None:
        yield blocks(f"{subject.where}, settings.port", *refused)


def _needs(question: Question, probes: Probes) -> Iterator[Finding]:
    """Images and wheels without a digest anywhere; programs on this machine."""
    local = {subject.candidate.name for subject in question.local}
    plans = [
        Planned(name=subject.candidate.name, plan=subject.plan) for subject in question.subjects
    ]
    for shared in shared_needs(plans):
        need, names = shared.need, shared.candidates
        if need.kind in ("image", "wheel") and need.digest is None:
            yield _unpinned(need, names)
        here = [name for name in names if name in local]
        if need.kind == "program" and here and not _is_there(need.name, probes):
            yield blocks(
                _for(here),
                f"program {need.name} is not on this machine ({need.reason})",
                "Install it, or say where it is in settings.programs",
            )


def _unpinned(need: Need, names: tuple[str, ...]) -> Finding:
    do = {
        "image": "Pin it: image: NAME@sha256:…; till then nobody can repeat the launch",
        "wheel": "Choose a release whose digest the runtime's pins have",
    }
    return warns(
        _for(names), f"{need.kind} {need.name} has no digest ({need.reason})", do[need.kind]
    )


def _environments(question: Question, probes: Probes) -> Iterator[Finding]:
    names = [
        subject.candidate.name
        for subject in question.local
        if subject.plan is not None and subject.plan.mode == "venv"
    ]
    if names and not probes.has_module("ensurepip"):
        yield blocks(
            _for(names),
            "this Python cannot make virtual environments: it has no ensurepip",
            "Install the package python3-venv, or run another Python",
        )


def _is_there(program: str, probes: Probes) -> bool:
    if Path(program).is_absolute():
        return probes.exists(program)
    return probes.program(program) is not None


def _for(names: tuple[str, ...] | list[str]) -> str:
    several = "s" if len(names) > 1 else ""
    return f"candidate{several} {', '.join(map(repr, names))}"

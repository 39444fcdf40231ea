"""Places: services that are measured as they stand, machines and who gives them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from flows.bench.endpoint import is_loopback
from flows.bench.http import LOOPBACK_ONLY
from flows.clouds import cloud_of
from flows.errors import InfrastructureError, UsageError
from flows.foreign_load import objections
from flows.placement_cpus import place
from flows.preflight.finding import Finding, blocks, of_error, warns
from flows.preflight.probes import Probes
from flows.preflight.question import Question, Subject

_REFUSED: Final = (401, 403)
_SERVER_ERROR: Final = 500


def place_findings(question: Question, probes: Probes) -> Iterator[Finding]:
    """What keeps us from the services and machines of the campaign."""
    for subject in question.subjects:
        if subject.is_endpoint:
            yield from _endpoint(subject, question, probes)
        elif subject.refusal is None:
            yield from _machine(subject)
    if question.local:
        yield from _this_machine(question, probes)


def _endpoint(subject: Subject, question: Question, probes: Probes) -> Iterator[Finding]:
    key = subject.candidate.api_key_env
    if key is not None and not probes.environment.get(key, "").strip():
        yield blocks(
            f"{subject.where}, api_key_env", f"the variable {key} is not set", f"Export {key}"
        )
        return
    headers = {"Authorization": f"Bearer {probes.environment[key].strip()}"} if key else {}
    for url in subject.candidate.endpoint:
        where = f"{subject.where}, {url}"
        if _is_guarded(probes) and not is_loopback(urlsplit(url).hostname or ""):
            yield _kept_here(where)
        else:
            yield from _answer(where, url, headers, question, probes)


def _answer(
    where: str, url: str, headers: Mapping[str, str], question: Question, probes: Probes
) -> Iterator[Finding]:
    reached = probes.ask(url, headers)
    if reached.status is None:
        yield blocks(where, reached.seen, reached.do)
    elif reached.status in _REFUSED:
        yield blocks(
            where,
            f"it refuses us (HTTP {reached.status})",
            "Name the variable with its key as api_key_env, and check the key",
        )
    elif reached.status >= _SERVER_ERROR:
        yield blocks(where, f"it is out of order (HTTP {reached.status})", "Read its log")
    elif reached.models and question.campaign.contract.model not in reached.models:
        yield warns(
            where,
            f"it lists {', '.join(reached.models)}, not {question.campaign.contract.model}",
            "Check that it serves the contract's model under another name",
        )


def _machine(subject: Subject) -> Iterator[Finding]:
    candidate = subject.candidate
    if candidate.host is None and candidate.offer is None:
        yield blocks(
            subject.where,
            f"it names a device ({candidate.device}) and no machine that has one",
            "Name an offer or a host",
        )
        return
    try:
        cloud_of(candidate.host, candidate.offer, subject.where)
    except UsageError as error:
        yield of_error(error)


def _this_machine(question: Question, probes: Probes) -> Iterator[Finding]:
    cpu = probes.system.cpu
    for subject in question.local:
        stated = subject.candidate.settings.get("cpus", ())
        try:
            placed = place(subject.candidate.name, tuple(stated), cpu.allowed, cpu.cores)
        except InfrastructureError as error:
            yield of_error(error)
            continue
        if placed.threat is not None and not _is_simulated(subject):
            threat, _, do = placed.threat.partition(": ")
            yield warns(f"{subject.where}, settings.cpus", threat, do.capitalize())
    holder = probes.holder()
    if holder is not None:
        yield blocks(
            "host 'local'",
            f"it is held by {holder}",
            f"Wait for its end, or stop it: kill {holder.pid}",
        )
    yield from _others(question, probes)


def _is_simulated(subject: Subject) -> bool:
    """Whether no real engine needs CPUs of its own: its file may be of another machine."""
    return subject.plan is not None and subject.plan.simulation


def _others(question: Question, probes: Probes) -> Iterator[Finding]:
    """Others' load stops a campaign that is to decide; one that explores tells it by cell."""
    load = probes.load()
    for seen in objections(load) if load is not None else ():
        if question.campaign.exploratory:
            yield warns("host 'local'", seen, "It is told in each cell")
        else:
            yield blocks("host 'local'", seen, "Stop them, or wait until they are done")


def _is_guarded(probes: Probes) -> bool:
    return probes.environment.get(LOOPBACK_ONLY) == "1"


def _kept_here(where: str) -> Finding:
    return blocks(
        where,
        f"{LOOPBACK_ONLY}=1 keeps every request on this machine",
        "Unset it to reach other hosts",
    )

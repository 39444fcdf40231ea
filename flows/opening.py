"""What comes before the first launch: the look at everything that can fail, installations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from flows import qualifying
from flows.clouds import findings_before
from flows.errors import InfrastructureError, InstallError, RunoffError, UsageError
from flows.hosts.host import CampaignHost
from flows.launching import as_rendered
from flows.preflight import Finding, preflight, real_probes
from flows.provision import is_rented, site_of
from flows.reaching import sources, unreached
from flows.remote.lost import TakenBackError
from flows.system.here import facts_here
from flows.underway import Underway, utc_now

_AWAY: Final = ("ssh", "cloud")


def check(work: Underway) -> int:
    """Tell of everything that weakens the campaign; how many findings there are.

    Raises
    ------
    RunoffError
        With all that would make it fail, in one list.
    """
    work.interruption.check()
    findings = findings_of(work)
    for finding in findings:
        if finding.severity == "warns":
            work.progress.said(f"note: {finding}")
    blocking = [finding for finding in findings if finding.severity == "blocks"]
    if blocking:
        work.progress.said("nothing was started")
        raise refusal(blocking)
    return len(findings)


def findings_of(work: Underway) -> tuple[Finding, ...]:
    """What a look before the start finds; a rehearsal minds nobody's load."""
    probes = real_probes(work.around.environment, facts_here("local", utc_now()))
    if work.plan.rehearsal:
        probes = dataclasses.replace(probes, load=lambda: None)
        return preflight(work.asked.question, probes)
    away = [
        work.candidate(each.name)
        for each in work.plan.candidates
        if each.measured and each.host_class in _AWAY
    ]
    found = (*preflight(work.asked.question, probes), *qualifying.findings(work))
    return (*found, *(findings_before(site_of(work), away) if away else ()))


def refusal(blocking: Sequence[Finding]) -> RunoffError:
    """All that stands in the way, as one error."""
    first, *others = blocking
    kind = InfrastructureError if first.where.startswith("host ") else UsageError
    if not others:
        return kind(first.where, first.seen, first.do)
    listed = "; ".join(str(finding) for finding in blocking)
    return kind("before the start", listed, "")


def make_ready(work: Underway, candidate: str) -> None:
    """Put the candidate's release on its machine; one that cannot be had is given up."""
    facts = work.facts(candidate)
    if facts.kind == "endpoint":
        return
    work.progress.state(candidate, "preparing")

    def said(line: str) -> None:
        work.interruption.check()
        work.require_kept(facts.host)
        work.progress.detail(candidate, line[-60:])

    held = work.held[facts.host]
    try:
        if held.host is None:
            raise InfrastructureError(f"host {facts.host!r}", "it has not been entered", "")
        _look_at_sources(work, candidate, held.host)
        work.prepared[candidate] = held.host.prepare(
            work.asked.requested[candidate],
            place=work.around.cache / "installs",
            environment=work.around.environment,
            said=said,
            finished=work.asked.finished.get(candidate, as_rendered),
            is_port_stated="port" in work.candidate(candidate).settings,
        )
    except TakenBackError:
        raise
    except RunoffError as error:
        work.give_up(candidate, f"not prepared: {error.seen}")
        work.progress.state(candidate, f"not prepared: {error}")
        return
    work.progress.state(candidate, "prepared")


def _look_at_sources(work: Underway, candidate: str, host: CampaignHost) -> None:
    """Ask, before the first pull, whether its machine reaches what it comes from.

    A rented machine is empty, and paid while it waits for what never comes. On another one it
    may all lie there already.

    Raises
    ------
    InstallError
        If a rented machine does not reach it.
    """
    plan = work.facts(candidate).launch or {}
    request = work.asked.requested[candidate].request
    if plan.get("simulation") or request is None:
        return
    asked = sources(
        plan.get("needs", ()),
        host.environment(work.around.environment),
        installs=plan.get("mode") != "process" and not request.programs,
    )
    name = work.facts(candidate).host
    for source, why in unreached(host, asked):
        seen = f"{source.what} {source.address} is not reached from it: {why}"
        if is_rented(work, name):
            raise InstallError(
                f"host {name!r}", seen, "Open the way to it, or state mirrors or a proxy"
            )
        work.progress.said(f"note: host {name!r}: {seen}")

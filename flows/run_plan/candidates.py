"""One candidate of a plan: where it runs, what runs, what it costs, what the paper said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from catalog.schema import Candidate
from catalog.verdict import Status, Verdict
from deploy_templates.plan import LaunchPlan
from flows.launch_plans import Planned
from flows.run_plan.rehearsed import ENGINE, LOCAL
from reports.run.plan_file import CandidateFacts, PriceFacts

HostClass = Literal["local", "ssh", "cloud", "endpoint"]
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
NOWHERE: Final = "neither an offer nor a host is named: nothing can be acquired for it"
_TTFT_GATE: Final = "compute"
_ITL_GATE: Final = "bandwidth"
_MS_PER: Final = {"s": 1e3, "ms": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Who is measured: ``only`` these candidates (empty: all), and on what verdicts."""

    only: tuple[str, ...] = ()
    unlikely: bool = False
    unknown: bool = False

    def against(self, candidate: Candidate, verdict: Verdict) -> str | None:
        """Why a candidate is not measured; None: it is.

        An endpoint is unknown on paper by nature: naming it says that it is to be measured.
        """
        if self.only and candidate.name not in self.only:
            return "left out by --only"
        if candidate.endpoint:
            return None
        status, why = verdict.verdict, _why(verdict)
        if status is Status.REJECT:
            return f"rejected on paper, {why}"
        if status is Status.UNLIKELY and not self.unlikely:
            return f"unlikely on paper, {why}; --include-unlikely measures it all the same"
        if status is Status.UNKNOWN and not self.unknown:
            return f"not known on paper, {why}; --include-unknown measures it all the same"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What is equal for all candidates of a plan."""

    is_moe: bool
    has_decision_point: bool
    rehearsal: bool


def candidate_facts(
    shared: Shared,
    candidate: Candidate,
    verdict: Verdict,
    planned: Planned,
    skipped: str | None,
) -> CandidateFacts:
    """The candidate as the plan keeps it; ``candidate`` is the campaign file's own."""
    is_endpoint = bool(candidate.endpoint) and not shared.rehearsal
    launch = planned.plan
    host, host_class = place_of(candidate, rehearsal=shared.rehearsal)
    return CandidateFacts(
        name=candidate.name,
        kind="endpoint" if is_endpoint else "launch",
        host=host,
        host_class=host_class,
        offer=candidate.offer,
        device=verdict.device,
        device_class=planned.device_class,
        device_count=candidate.device_count,
        tensor_parallel=candidate.tensor_parallel,
        replicas_per_host=candidate.replicas_per_host or 1,
        replicas=candidate.replicas or 1,
        runtime=None if launch is None else launch.runtime,
        version=None if launch is None else launch.version,
        precision=verdict.precision,
        kv_precision=verdict.kv_precision,
        driver=candidate.driver,
        parity="contract" if verdict.parity == "contract" else "needs quality proof",
        checkpoint=None if is_endpoint else candidate.checkpoint,
        weight_bytes=None if launch is None or launch.simulation else planned.weight_bytes,
        is_dummy=_is_dummy(candidate),
        is_moe=shared.is_moe,
        is_speculative=candidate.speculation is not None,
        price=price_facts(candidate, verdict),
        verdict=_word(verdict),
        clause=verdict.clause,
        reason=verdict.reason or None,
        ranks=tuple(rank.value for rank in verdict.ranks),
        bound_ttft_ms=_bound_ms(shared, verdict, _TTFT_GATE),
        bound_itl_ms=_bound_ms(shared, verdict, _ITL_GATE),
        measured=skipped is None,
        skipped=skipped,
        grade="uncontrolled" if is_endpoint else "controlled",
        endpoints=candidate.endpoint if is_endpoint else (),
        fingerprint=None if launch is None else launch.fingerprint,
        launch=None if launch is None else launch.to_json(),
        threats=_threats(candidate, launch, host_class),
    )


def place_of(candidate: Candidate, *, rehearsal: bool) -> tuple[str, HostClass]:
    """The machine's name in files, as a driver names it, and what kind of place it is."""
    if rehearsal or candidate.runtime == ENGINE:
        return LOCAL, "local"  # no machine is asked for a simulation
    if candidate.endpoint:
        return f"endpoint-{candidate.name}", "endpoint"
    if candidate.host is not None:
        return _fit(candidate.host), "local" if candidate.host == LOCAL else "ssh"
    if candidate.offer is not None:
        return _fit(candidate.offer), "cloud"
    times = f"{candidate.device_count}x-" if candidate.device_count > 1 else ""
    return _fit(f"{times}{candidate.device}"), "cloud"


def price_facts(candidate: Candidate, verdict: Verdict) -> PriceFacts | None:
    """What an hour of the whole instance, or a million tokens, costs; None is unknown."""
    price = verdict.price if verdict.price is not None else candidate.price
    if price is None:
        return None
    own = (candidate.assumptions.price, candidate.price)
    return PriceFacts(
        value=price.value,
        unit=price.unit,
        basis=price.basis,
        source=price.source,
        date=price.date.isoformat() if price.date is not None else None,
        stale=verdict.stale,
        stated=any(each is not None and each == price for each in own),
        commitment=verdict.commitment,
        sold_as=verdict.sold_as,
    )


def _why(verdict: Verdict) -> str:
    """The deciding gate's clause and its reason."""
    parts = dict.fromkeys((verdict.clause, verdict.reason.removeprefix("unknown: ")))
    return ": ".join(part for part in parts if part)


def _word(verdict: Verdict) -> Literal["pass", "unlikely", "unknown", "reject"]:
    words: Mapping[Status, Literal["pass", "unlikely", "unknown", "reject"]] = {
        Status.PASS: "pass",
        Status.UNLIKELY: "unlikely",
        Status.REJECT: "reject",
    }
    return words.get(verdict.verdict, "unknown")


def _bound_ms(shared: Shared, verdict: Verdict, gate: str) -> float | None:
    """A gate's bound where it is a time that the contract's own load cannot undercut."""
    found = next((each for each in verdict.gates if each.gate == gate), None)
    if found is None or found.bound is None or not shared.has_decision_point:
        return None
    bound = found.bound
    return bound.value * _MS_PER[bound.unit] if bound.unit in _MS_PER else None


def _is_dummy(candidate: Candidate) -> bool:
    return candidate.checkpoint == "dummy" or bool(candidate.settings.get("dummy_weights"))


def _threats(
    candidate: Candidate, launch: LaunchPlan | None, host_class: HostClass
) -> tuple[str, ...]:
    found = () if launch is None else launch.threats
    if host_class == "cloud" and candidate.offer is None:
        return (*found, NOWHERE)
    return found


def _fit(name: str) -> str:
    return _UNFIT.sub("-", name).strip("-.") or "host"

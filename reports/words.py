"""What a screen says, as sentences made from its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from catalog.facts import PARITY
from catalog.quantity import Basis, Quantity, significant
from catalog.screen import ContractSummary, Screen
from catalog.verdict import Rank, Status, Verdict
from reports.phrases import (
    decisive_basis,
    engine,
    gate_title,
    layout,
    money,
    names,
    per_second,
    percent,
    plain,
    usable,
)

_TIE = 0.02
_STATISTICS = {"tpot": "TPOT", "p95_gap": "gap between tokens", "max_gap": "largest gap"}


def contract_sentence(contract: ContractSummary) -> str:
    """The contract in one sentence: model, lengths, load and limits."""
    return (
        f"{contract.model}, weights {contract.weights}, KV cache {contract.kv_cache}; "
        f"prompts {contract.prompt_tokens} tokens, answers {contract.output_tokens} "
        f"(context {contract.mean_context:,.0f} on average, "
        f"{contract.maximum_context:,} at most); {_load(contract)}; {_limits(contract)}."
    )


def elimination(verdict: Verdict) -> str:
    """Why a candidate does not pass, in one sentence with its numbers."""
    verb = {
        Status.REJECT: "is rejected at",
        Status.UNLIKELY: "is unlikely at",
        Status.UNKNOWN: "cannot be judged at",
    }[verdict.verdict]
    reason = verdict.reason.removeprefix("unknown: ")
    text = f"{verdict.name} {verb} {gate_title(verdict.decided_by or '')}: {reason}"
    return text + _also_assumed(verdict) + "."


def not_passed(screen: Screen) -> tuple[Verdict, ...]:
    """Candidates whose verdict is not ``pass``, in the screen's order."""
    return tuple(c for c in screen.candidates if c.verdict is not Status.PASS)


def elimination_counts(screen: Screen) -> tuple[str, ...]:
    """How many candidates each gate stopped, by status; the most first."""
    stopped = Counter((c.verdict, c.decided_by or "") for c in not_passed(screen))
    ordered = sorted(stopped.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        f"{count:,} {verdict.value} at {gate_title(gate)}."
        for (verdict, gate), count in ordered
    )


def totals(screen: Screen) -> str:
    """How many candidates have each verdict, in words."""
    order = (Status.PASS, Status.UNLIKELY, Status.UNKNOWN, Status.REJECT)
    parts = [f"{screen.counts.get(status, 0):,} {status.value}" for status in order]
    total = len(screen.candidates)
    return f"{total:,} candidate{'s' if total != 1 else ''}: {', '.join(parts)}."


def runner_up(screen: Screen) -> Verdict | None:
    """The next lowest best case among those that could have been chosen; None if none could.

    Runtimes on the same devices are told apart by measuring alone, so another machine,
    degree or precision is preferred.
    """
    first = screen.primary
    if first is None:
        return None
    able = [c for c in screen.candidates if _could_win(c, screen)]
    others = [c for c in able if placed(c) != placed(first)]
    return min(others or able, key=_cost, default=None)


def placed(verdict: Verdict) -> tuple[object, ...]:
    """What the paper can tell apart: all but the runtime."""
    return (
        verdict.offer,
        verdict.device,
        verdict.device_count,
        verdict.tensor_parallel,
        verdict.precision,
        verdict.kv_precision,
    )


def choice(screen: Screen) -> tuple[str, ...]:
    """The paper's first choice and its defence; or why there is none."""
    primary = screen.primary
    if primary is None:
        return (_no_choice(screen),)
    return (
        _opening(screen, primary),
        *headroom(primary),
        second_place(screen, primary),
        *thin_margins(screen),
    )


def second_place(screen: Screen, primary: Verdict) -> str:
    """The runner-up and what separates it from the choice."""
    second = runner_up(screen)
    if second is None:
        return _no_second(screen)
    cost = money(second.cost, second.currency)
    text = f"Runner-up is {second.name} ({layout(second)}) at {cost} per 1M"
    if _is_tie(primary, second):
        text += (
            f", within 2% of {primary.name}: the tie goes to {_tie_breaker(primary, second)}"
        )
    elif primary.cost:
        excess = _cost(second) / primary.cost - 1
        text += f", {significant(excess * 100, 2)}% above {primary.name}"
    ranks = " and ".join(rank.value for rank in second.ranks)
    return text + (f"; it is {ranks}." if ranks else ".")


def thin_margins(screen: Screen) -> Iterator[str]:
    """How little is left to named candidates that pass with less than 10% of a limit."""
    for candidate in () if screen.all_offers else screen.candidates:
        if Rank.THIN_MARGIN not in candidate.ranks:
            continue
        gates = [gate for gate in candidate.gates if gate.margin is not None]
        tightest = min(gates, key=lambda gate: gate.margin or 0.0)
        figure, allowed = tightest.bound, tightest.limit
        if decisive_basis(tightest) is Basis.ASSUMPTION:
            figure, allowed = tightest.assumption, usable(tightest)
        if figure is not None and allowed is not None:
            yield (
                f"{candidate.name} passes with a thin margin at {gate_title(tightest.gate)}: "
                f"{_of(figure, allowed)} {_by(figure)}, and what no formula contains must fit "
                "into the rest."
            )


def headroom(verdict: Verdict) -> Iterator[str]:
    """What is left of each limit that holds, by proof and by assumption."""
    for gate in verdict.gates:
        if gate.limit is None or gate.bound is None or gate.status is not Status.PASS:
            continue
        text = f"{_of(gate.bound, gate.limit)} by the bound"
        allowed = usable(gate)
        if gate.assumption is not None and allowed is not None:
            text += f", {_of(gate.assumption, allowed)} by assumption"
        yield f"{gate_title(gate.gate).capitalize()}: {text}."


def load_points(verdict: Verdict) -> Iterator[str]:
    """How busy a candidate would be at the rates of the load matrix, which promise nothing."""
    for gate in verdict.gates:
        for name, share in gate.details.items():
            if not (name.startswith("at_") and name.endswith("_assumed")):
                continue
            rate = name.removeprefix("at_").removesuffix("_per_s_assumed")
            least = gate.details.get(f"at_{rate}_per_s_bound")
            if isinstance(share, Quantity):
                yield _busy(verdict, rate, share, least)


def rates_word(verdict: Verdict) -> str:
    """``measured`` where both achieved rates of the candidate were, else ``assumed``."""
    names = {each.name for each in verdict.calibrated}
    return "measured" if {"bandwidth", "compute"} <= names else "assumed"


def _also_assumed(verdict: Verdict) -> str:
    """The assumption's figure beside a proof, for the gates that have one."""
    gate = next((g for g in verdict.gates if g.gate == verdict.decided_by), None)
    if gate is None or gate.status is not Status.REJECT or gate.assumption is None:
        return ""
    return f" (by assumption {plain(gate.assumption)})"


def _could_win(verdict: Verdict, screen: Screen) -> bool:
    return (
        verdict is not screen.primary
        and verdict.verdict is Status.PASS
        and verdict.parity == PARITY
        and verdict.commitment in (None, "owned", *screen.commitments)
        and verdict.cost is not None
        and (screen.primary is None or verdict.currency == screen.primary.currency)
    )


def _no_second(screen: Screen) -> str:
    """Why nothing stands beside the choice: nothing passes, or nothing can be compared."""
    others = [
        c.name
        for c in screen.candidates
        if c.verdict is Status.PASS and c is not screen.primary
    ]
    if not others:
        return "No other candidate passes, so there is no runner-up."
    return (
        f"{names(others)} would pass too, but cannot be ranked beside it: by price only where "
        "both prices are known, in one currency and of a kind that the campaign ranks, and "
        "only at the contract's precision."
    )


def _busy(verdict: Verdict, rate: str, share: Quantity, least: Quantity | str | None) -> str:
    bound = f", {significant(least.value)} at the bound" if isinstance(least, Quantity) else ""
    queue = "; above 1 the queue grows without end" if share.value > 1 else ""
    return (
        f"At {rate} {per_second(rate)} the utilisation of {verdict.name} would be "
        f"{significant(share.value)} by the {rates_word(verdict)} rates{bound}{queue}."
    )


def _opening(screen: Screen, primary: Verdict) -> str:
    text = f"{primary.name} ({layout(primary)}, {engine(primary)}) is the paper's choice: "
    cost = primary.cost
    if cost is None:
        return text + _by_tokens(primary)
    text += f"at its bound 1M output tokens cost {money(cost, primary.currency)}"
    second = runner_up(screen)
    if second is not None and _cost(second) < cost:
        return text + "."
    return text + ", the least of those that pass."


def _by_tokens(primary: Verdict) -> str:
    """The choice where no price is known: the most tokens of those that pass."""
    unknown = "its price" if primary.hourly is None else "its best case"
    text = f"it passes every gate; {unknown} is unknown"
    tokens = primary.best_tokens_per_hour
    return (
        f"{text}."
        if tokens is None
        else (f"{text}, and at its bound it delivers most: {tokens:,.0f} output tokens/h.")
    )


def _load(contract: ContractSummary) -> str:
    parts = []
    if contract.needed_tokens_per_hour is not None:
        parts.append(f"offline, {plain(contract.needed_tokens_per_hour)} of output needed")
    if contract.concurrency is not None:
        parts.append(f"{contract.concurrency} streams at once")
    if contract.rate is not None:
        rate = f"{contract.rate.value:g}"
        parts.append(f"{rate} {per_second(rate)}")
    return ", ".join(parts)


def _limits(contract: ContractSummary) -> str:
    percentile = f"p{contract.percentile:g}"
    parts = []
    if contract.ttft is not None:
        parts.append(f"{percentile} TTFT ≤ {plain(contract.ttft)}")
    if contract.itl is not None:
        statistic = _STATISTICS[contract.itl_statistic or "tpot"]
        parts.append(f"{percentile} ITL ({statistic}) ≤ {plain(contract.itl)}")
    if contract.goodput is not None:
        parts.append(f"goodput ≥ {plain(contract.goodput)}")
    if contract.cost_ceiling is not None:
        parts.append(f"at most {plain(contract.cost_ceiling)}")
    return ", ".join(parts) or "no latency limits"


def _of(figure: Quantity, limit: Quantity) -> str:
    left = f" ({percent(1 - figure.value / limit.value)})" if limit.value else ""
    return f"{plain(figure)} of {plain(limit)}{left}"


def _by(figure: Quantity) -> str:
    return "by assumption" if figure.basis is Basis.ASSUMPTION else "by the bound"


def _no_choice(screen: Screen) -> str:
    if not screen.survivors:
        return "Nothing survives: a bound rejects every candidate, so measuring cannot help."
    passing = [c for c in screen.candidates if c.verdict is Status.PASS]
    unproven = [c.name for c in passing if c.parity != PARITY]
    if unproven:
        return (
            f"No candidate at the contract's precision passes every gate. {names(unproven)} "
            "would, but at another precision: quality must be proven first."
        )
    if passing:
        return (
            f"{names([c.name for c in passing])} passes every gate, but its price is of a kind "
            "that the campaign does not rank (commitments: in the file)."
        )
    return (
        "No candidate passes every gate. Those that no bound rejects can still be measured, "
        "if the campaign says so (screening: in the file)."
    )


def _cost(verdict: Verdict) -> float:
    return verdict.cost or 0.0


def _is_tie(first: Verdict, second: Verdict) -> bool:
    one, other = first.cost, second.cost
    return one is not None and other is not None and abs(one - other) <= _TIE * min(one, other)


def _tie_breaker(primary: Verdict, second: Verdict) -> str:
    if (primary.device_count or 1) != (second.device_count or 1):
        return "fewer devices"
    if primary.hourly != second.hourly:
        return "the lower hourly price"
    if (primary.tensor_parallel or 1) != (second.tensor_parallel or 1):
        return "fewer ranks"
    return "the lower best case"

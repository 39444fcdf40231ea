"""Paper ranks: which candidate the paper would take, and what speaks against the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from catalog.facts import PARITY
from catalog.verdict import Rank, Status, Verdict

TIE_SHARE = 0.02
THIN_MARGIN = 0.10


def ranked(verdicts: Sequence[Verdict], commitments: Sequence[str]) -> tuple[Verdict, ...]:
    """The same candidates in the same order, each with its ranks.

    Prices under a commitment that the campaign did not ask for do not compete.
    """
    passing = [v for v in verdicts if v.verdict is Status.PASS]
    first = primary(passing, commitments)
    smallest = _smallest_degrees(passing)
    equals = _equal_runtimes(first, passing) if first is not None else ()
    return tuple(
        _with_note(_with_ranks(verdict, first, smallest), equals)
        if verdict is first
        else _with_ranks(verdict, first, smallest)
        for verdict in verdicts
    )


def primary(passing: Sequence[Verdict], commitments: Sequence[str]) -> Verdict | None:
    """The cheapest best case at the contract's precision.

    Ties within 2% go to fewer devices, the lower hourly price, fewer ranks. Where no price is
    known, the most output tokens per machine-hour wins. Prices in another currency than the
    screen's (dollars where any is in dollars) are as good as unknown.
    """
    able = [v for v in passing if v.parity == PARITY and _competes(v, commitments)]
    priced = in_one_currency([v for v in able if v.cost is not None])
    if priced:
        least = min(_cost(v) for v in priced)
        tied = [v for v in priced if _cost(v) <= least * (1 + TIE_SHARE)]
        return min(tied, key=_preference)
    if not able:
        return None
    most = max(v.best_tokens_per_hour or 0.0 for v in able)
    tied = [v for v in able if (v.best_tokens_per_hour or 0.0) * (1 + TIE_SHARE) >= most]
    return min(tied, key=_devices)


def in_one_currency(priced: Sequence[Verdict]) -> list[Verdict]:
    """Those whose prices can be compared: in dollars, or else in the first one's currency."""
    currencies = [v.currency for v in priced]
    chosen = "USD" if "USD" in currencies else next(iter(currencies), "")
    return [v for v in priced if v.currency == chosen]


def _competes(verdict: Verdict, commitments: Sequence[str]) -> bool:
    return verdict.commitment in (None, "owned", *commitments)


def _cost(verdict: Verdict) -> float:
    return verdict.cost if verdict.cost is not None else float("inf")


def _preference(verdict: Verdict) -> tuple[int, float, int, float]:
    """What decides among ties, in this order; a sibling with more ranks is cost-inefficient."""
    ranks = verdict.tensor_parallel or 1
    return _devices(verdict), verdict.hourly or 0.0, ranks, _cost(verdict)


def _devices(verdict: Verdict) -> int:
    return verdict.device_count or 0


def _kin(verdict: Verdict) -> tuple[str | None, ...]:
    """What siblings share: they differ in the parallel degree alone."""
    return verdict.device, verdict.runtime, verdict.precision, verdict.kv_precision


def _smallest_degrees(passing: Sequence[Verdict]) -> dict[tuple[str | None, ...], int]:
    degrees: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for verdict in passing:
        degrees[_kin(verdict)].append(verdict.tensor_parallel or 1)
    return {kin: min(found) for kin, found in degrees.items()}


def _equal_runtimes(first: Verdict, passing: Sequence[Verdict]) -> tuple[str, ...]:
    """Runtimes that no bound tells apart from the choice's on the same devices."""

    def place(verdict: Verdict) -> tuple[object, ...]:
        return (
            verdict.offer,
            verdict.device,
            verdict.device_count,
            verdict.tensor_parallel,
            verdict.precision,
            verdict.kv_precision,
            verdict.cost,
        )

    same = (v.runtime for v in passing if v is not first and place(v) == place(first))
    return tuple(sorted(name for name in dict.fromkeys(same) if name and name != first.runtime))


def _with_note(verdict: Verdict, equals: tuple[str, ...]) -> Verdict:
    if not equals:
        return verdict
    note = f"on paper equal under {', '.join(equals)}: only a measurement tells runtimes apart"
    return replace(verdict, notes=(*verdict.notes, note))


def _with_ranks(
    verdict: Verdict, first: Verdict | None, smallest: dict[tuple[str | None, ...], int]
) -> Verdict:
    if verdict.verdict is not Status.PASS:
        return verdict
    ranks = _ranks(verdict, first, smallest)
    return replace(verdict, ranks=ranks) if ranks else verdict


def _ranks(
    verdict: Verdict, first: Verdict | None, smallest: dict[tuple[str | None, ...], int]
) -> tuple[Rank, ...]:
    ranks = []
    if verdict is first:
        ranks.append(Rank.PRIMARY)
    elif (verdict.tensor_parallel or 1) > smallest[_kin(verdict)]:
        ranks.append(Rank.COST_INEFFICIENT)
    margin = verdict.margin
    if margin is not None and margin < THIN_MARGIN:
        ranks.append(Rank.THIN_MARGIN)
    return tuple(ranks)

"""The clauses of the contract, each judged over all launches of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.quantity import Basis
from reports.cell.kept import Share
from reports.cell.settings import ITL_STATISTICS, ItlStatistic
from reports.columns import Flags
from reports.run.cell_file import AskedSlo
from reports.run.number import Number
from reports.run.plan_file import OfflineFacts
from reports.run.summary_file import ClauseSummary, ClauseVerdict
from reports.stats.percentile_claim import percentile_claim
from reports.stats.replications import METHOD, one_sided, replicated
from reports.stats.share_claim import ShareClaim, share_claim, weighted_share_claim
from reports.summary.launch_measure import LaunchMeasure
from reports.summary.numbers import finite

LEVEL: Final = 0.95
_UNSEEN: Final = "the ITL statistic cannot be observed here: chunks came bunched"
_ONE: Final = "one launch is no evidence of what the next one shows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseMaker:
    """The launches of one cell and what they were held against."""

    launches: Sequence[LaunchMeasure]
    slo: AskedSlo
    basis: Basis

    @property
    def requests(self) -> int:
        """Measured requests of all launches."""
        return sum(launch.summary.counts["measured"] for launch in self.launches)

    def ttft(self) -> ClauseSummary:
        """The clause on TTFT (on TTFA where the contract limits the answer's first token)."""
        name = "TTFA" if self.slo.first == "answer" else "TTFT"
        shares = [launch.kept.ttft for launch in self.launches]
        return self._percentile("ttft", name, self.slo.ttft_ms, shares)

    def itl(self) -> ClauseSummary:
        """The clause on the contract's ITL statistic."""
        shares = [launch.kept.itl for launch in self.launches]
        return self._percentile("itl", self.slo.itl_statistic, self.slo.itl_ms, shares)

    def goodput(self) -> dict[str, ClauseSummary]:
        """The clause on goodput under each ITL statistic."""
        return {statistic: self._goodput(statistic) for statistic in ITL_STATISTICS}

    def throughput(self, offline: OfflineFacts, levels: int) -> ClauseSummary:
        """The clause on work per hour; ``levels`` is how many loads share the claim.

        The contract holds where any of them holds, so each is judged at 1 - 5% / levels.
        """
        what, goal = _goal(offline)
        hourly = [
            launch.tokens_per_hour if what == "tok/h" else launch.requests_per_hour
            for launch in self.launches
        ]
        level = 1 - (1 - LEVEL) / levels
        bounds, found = one_sided(hourly, level), replicated(hourly)
        verdict: ClauseVerdict = "inconclusive"
        if bounds.low is not None and bounds.low >= goal:
            verdict = "holds"
        elif bounds.high is not None and bounds.high < goal:
            verdict = "misses"
        return ClauseSummary(
            name="throughput",
            statistic="output tokens per hour" if what == "tok/h" else "requests per hour",
            limit=goal,
            number=Number(
                value=finite(found.median),
                unit=what,
                basis=self.basis,
                low=finite(bounds.low),
                high=finite(bounds.high),
                level=level,
                method=METHOD,
                n=self.requests,
                runs=len(self.launches),
                mad=finite(found.mad),
                minimum=finite(found.minimum),
                maximum=finite(found.maximum),
            ),
            verdict=verdict,
            why=found.why or "" if verdict == "inconclusive" else "",
        )

    def _percentile(
        self, name: str, what: str, limit: float | None, shares: Sequence[Share | None]
    ) -> ClauseSummary:
        statistic = f"p{self.slo.percentile:g} {what}"
        values = [launch.clauses[name] for launch in self.launches]
        known = [share for share in shares if share is not None]
        if limit is None or len(known) < len(shares):
            return self._without_claim(name, statistic, limit, values)
        within = weighted_share_claim(
            [share.hits for share in known],
            [share.trials for share in known],
            self.slo.percentile / 100,
            LEVEL,
        )
        claim, spread = percentile_claim(values, within, limit), replicated(values)
        return ClauseSummary(
            name=_NAMES[name],
            statistic=statistic,
            limit=limit,
            number=Number(
                value=finite(claim.value),
                unit="ms",
                basis=self.basis,
                low=finite(claim.low),
                high=finite(claim.high),
                level=claim.level,
                method=claim.method,
                n=self.requests,
                runs=claim.n_runs,
                mad=finite(spread.mad),
                minimum=finite(spread.minimum),
                maximum=finite(spread.maximum),
                note="it lies among the failures"
                if claim.value is not None and finite(claim.value) is None
                else None,
            ),
            verdict=claim.verdict,
            why=self._why(claim.why),
        )

    def _without_claim(
        self, name: str, statistic: str, limit: float | None, values: Sequence[float | None]
    ) -> ClauseSummary:
        spread = replicated(values)
        return ClauseSummary(
            name=_NAMES[name],
            statistic=statistic,
            limit=limit,
            number=Number(
                value=finite(spread.median),
                unit="ms",
                basis=self.basis,
                n=self.requests,
                runs=len(self.launches),
            ),
            verdict="no such clause" if limit is None else "inconclusive",
            why="" if limit is None else _UNSEEN,
        )

    def _goodput(self, statistic: ItlStatistic) -> ClauseSummary:
        target = self.slo.goodput
        flags = [launch.kept.compliant[statistic] for launch in self.launches]
        known = [of_launch for of_launch in flags if of_launch is not None]
        claim = share_claim(known, target or 0.5, LEVEL) if len(known) == len(flags) else None
        return ClauseSummary(
            name="goodput",
            statistic=f"goodput ({statistic})",
            limit=target,
            number=self._share_number(claim, known),
            verdict="no such clause"
            if target is None
            else "inconclusive"
            if claim is None
            else claim.verdict,
            why="" if target is None else _UNSEEN if claim is None else self._why(claim.why),
        )

    def _share_number(self, claim: ShareClaim | None, flags: Sequence[Flags]) -> Number:
        if claim is None:
            return Number(value=None, unit="1", basis=self.basis, runs=len(self.launches))
        shares = [float(of_launch.mean()) for of_launch in flags if len(of_launch)]
        return Number(
            value=claim.share,
            unit="1",
            basis=self.basis,
            low=claim.low,
            high=claim.high,
            level=claim.level,
            method=claim.method,
            n=claim.n_requests,
            runs=claim.n_runs,
            minimum=min(shares, default=None),
            maximum=max(shares, default=None),
            note=f"{sum(int(of_launch.sum()) for of_launch in flags)} of {claim.n_requests}",
        )

    def _why(self, why: str | None) -> str:
        return _ONE if why and len(self.launches) == 1 else why or ""


_NAMES: Final = {"ttft": "ttft", "itl": "itl"}


def _goal(offline: OfflineFacts) -> tuple[str, float]:
    """The unit and the amount of work per hour that the contract asks for."""
    if offline.tokens_per_hour is not None:
        return "tok/h", offline.tokens_per_hour
    if offline.requests_per_hour is not None:
        return "requests/h", offline.requests_per_hour
    return "requests/h", (offline.requests or 0) / (offline.deadline_s or 1.0) * 3600

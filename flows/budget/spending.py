"""What a campaign has spent so far, and the refusal of a step that would be too much."""

from __future__ import annotations

from dataclasses import dataclass, field

from flows.budget.billing import HOUR_S, Billing
from flows.errors import BudgetStop


@dataclass(slots=True, kw_only=True)
class _Meter:
    """One machine's time, from when it is paid until it no longer is."""

    usd_per_hour: float | None
    billing: Billing
    since_s: float
    until_s: float | None = None

    def seconds(self, at_s: float) -> float:
        until_s = at_s if self.until_s is None else self.until_s
        return max(0.0, until_s - self.since_s)

    def usd(self, at_s: float) -> float:
        return self.billing.billed_s(self.seconds(at_s)) * (self.usd_per_hour or 0.0) / HOUR_S


@dataclass(slots=True, kw_only=True)
class Spending:
    """The running total of a run; times are seconds of any one clock, passed in.

    ``carried_usd`` and the times beside it are what earlier parts of a resumed run have used
    (the ledger's last ``spent``). ``limit_s`` is time on the wall, machines or not.
    """

    started_s: float
    limit_usd: float | None = None
    limit_s: float | None = None
    carried_usd: float = 0.0
    carried_machine_s: float = 0.0
    carried_wall_s: float = 0.0
    _meters: dict[str, _Meter] = field(default_factory=dict)
    _closed: list[_Meter] = field(default_factory=list)
    _extra_usd: float = 0.0

    def rent(
        self, host: str, usd_per_hour: float | None, billing: Billing, at_s: float
    ) -> None:
        """A machine is paid from now on; an unknown price counts its time only."""
        self.give_back(host, at_s)
        self._meters[host] = _Meter(usd_per_hour=usd_per_hour, billing=billing, since_s=at_s)

    def give_back(self, host: str, at_s: float) -> None:
        """A machine is paid no longer; again, and nothing happens."""
        meter = self._meters.pop(host, None)
        if meter is not None:
            meter.until_s = at_s
            self._closed.append(meter)

    def pay(self, usd: float) -> None:
        """Money that is not by time: tokens of a service, disk, traffic."""
        self._extra_usd += usd

    def usd(self, at_s: float) -> float:
        """USD spent, every started billing unit in full."""
        return self.carried_usd + self._extra_usd + sum(m.usd(at_s) for m in self._all())

    def machine_s(self, at_s: float) -> float:
        """Machine time in s."""
        return self.carried_machine_s + sum(meter.seconds(at_s) for meter in self._all())

    def wall_s(self, at_s: float) -> float:
        """Time on the wall in s, over all parts of the run."""
        return self.carried_wall_s + max(0.0, at_s - self.started_s)

    def refuse(self, step: str, seconds: float, at_s: float, *, usd: float = 0.0) -> None:
        """Refuse a step that may take so long: all rented machines are paid meanwhile.

        Parameters
        ----------
        step
            Its name, for the message: ``a launch of B``.
        seconds
            The most that it may take, until its machines could be given back.
        usd
            What it costs beside the machines that are rented already.

        Raises
        ------
        BudgetStop
            If money or time would not suffice, with what is left and what it needs.
        """
        end_s = at_s + seconds
        spent, then = self.usd(at_s), self.usd(end_s) + usd
        if self.limit_usd is not None and then > self.limit_usd:
            raise BudgetStop(
                step,
                f"it may bring the campaign to ${then:.2f}; ${spent:.2f} of "
                f"${self.limit_usd:.2f} are spent",
                "Raise budget.usd, or ask for less, and continue with --resume",
            )
        if self.limit_s is not None and self.wall_s(end_s) > self.limit_s:
            raise BudgetStop(
                step,
                f"it may end after {self.wall_s(end_s) / HOUR_S:.2f} h; "
                f"{self.limit_s / HOUR_S:.2f} h are allowed",
                "Raise budget.hours, or ask for less, and continue with --resume",
            )

    def _all(self) -> tuple[_Meter, ...]:
        return (*self._closed, *self._meters.values())

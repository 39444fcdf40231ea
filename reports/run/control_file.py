"""``hosts/<id>/control.json``: what was asked of a machine's settings, and what became of it.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.run.number import Frozen, Real

FORMAT = 1

ControlStatus = Literal[
    "open",
    "applied",
    "accepted",
    "not held",
    "not permitted",
    "unavailable",
    "refused",
    "failed",
]


class Observed(Frozen):
    """What samples under load have shown of a setting, over all cells of the host."""

    low: Real
    median: Real
    high: Real


class ControlSetting(Frozen):
    """One setting of one target: asked, found before, read back, and put back.

    ``restored`` is null where nothing had been changed, or nobody came to put it back.
    """

    name: str
    target: str
    requested: str
    before: str | None = None
    applied: str | None = None
    status: ControlStatus
    said: str = ""
    observed: Observed | None = None
    restored: bool | None = None


class ControlFile(Frozen):
    """One host's settings for the time of a run; ``leftover`` is what an earlier one left."""

    schema_version: Literal[1] = 1
    host: str
    settings: tuple[ControlSetting, ...] = ()
    leftover: str | None = None
    threats: tuple[str, ...] = ()

    @property
    def clock_control(self) -> Literal["locked", "none"]:
        """Whether every device's graphics clock was locked; signing needs it."""
        clocks = [each for each in self.settings if each.name == "graphics_clock_mhz"]
        held = [each.status in ("applied", "accepted") for each in clocks]
        return "locked" if held and all(held) else "none"

    @property
    def targets_mhz(self) -> dict[int, float]:
        """The locked graphics clock of each device that has one, by index."""
        return {
            int(each.target.removeprefix("GPU ")): float(each.requested)
            for each in self.settings
            if each.name == "graphics_clock_mhz" and each.status in ("applied", "accepted")
        }

    def seen(self, observed: dict[tuple[str, str], Observed]) -> ControlFile:
        """The file with what was observed under load, by name and target of the setting."""
        return self.model_copy(
            update={
                "settings": tuple(
                    each.model_copy(update={"observed": observed.get((each.name, each.target))})
                    for each in self.settings
                )
            }
        )

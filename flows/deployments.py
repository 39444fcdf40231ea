"""What is registered on a Prefect server, as data: forms to click, campaigns by a schedule."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from catalog.quantity import Dimension, parse
from flows.errors import UsageError

Verb = Literal["compare", "reevaluate", "signoff", "sweep"]
VERBS: Final[tuple[Verb, ...]] = ("compare", "reevaluate", "signoff", "sweep")
SHORTEST_S: Final = 1.0
LONGEST_S: Final = 10 * 365 * 86_400.0  # a server looks no further ahead
_WORDED: Final = re.compile(r"^\s*([\d.]+)\s*(m|d)\s*$")
_WORDS: Final = {"m": "min", "d": "d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When runs begin: by a cron line in a timezone, or every so many s.

    ``stated`` is ``every_s`` as the user wrote it.
    """

    cron: str | None = None
    timezone: str = "UTC"
    every_s: float | None = None
    stated: str = field(default="", compare=False)

    def __str__(self) -> str:
        """In words."""
        if self.cron is not None:
            return f"at {self.cron!r} ({self.timezone})"
        return f"every {self.stated or f'{self.every_s:g} s'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One entry of the server's list: a verb under a name, and how its form is filled in.

    ``keeps``: where the server has it already, its schedule and the parameters that are not
    given here stay.
    """

    verb: Verb
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schedule: Schedule | None = None
    tags: tuple[str, ...] = ()
    keeps: bool = False


def forms(sweep: Schedule | None = None) -> tuple[Deployment, ...]:
    """One entry for each verb, to be filled in by whoever clicks; a schedule there stays."""
    return tuple(
        Deployment(
            verb=verb, name=verb, schedule=sweep if verb == "sweep" else None, keeps=True
        )
        for verb in VERBS
    )


def of_campaign(
    verb: Verb,
    campaign: str,
    parameters: Mapping[str, Any],
    schedule: Schedule | None,
    *,
    keeps: bool = False,
) -> Deployment:
    """An entry for one campaign, filled in: one click, or its schedule.

    A schedule goes on with a run that was killed within a day, and else begins a new one.
    ``keeps`` is the entry's.
    """
    measures = not parameters.get("prices_only")
    resumes = {"resume": "unfinished"} if schedule is not None and measures else {}
    return Deployment(
        verb=verb,
        name=f"{verb}-{campaign}",
        parameters={**resumes, **parameters},
        schedule=schedule,
        tags=(f"campaign:{campaign}",),
        keeps=keeps,
    )


def schedule_of(cron: str | None, timezone: str | None, every: str | None) -> Schedule | None:
    """The schedule that flags state; None where they state none.

    Raises
    ------
    UsageError
        For two schedules at once, a timezone that is unknown or has no cron line, and a time
        that is none.
    """
    if cron is not None and every is not None:
        raise UsageError("--cron and --every", "two schedules", "Give one of them")
    if cron is None and timezone is not None:
        raise UsageError("--timezone", "there is no cron line", "Give --cron as well")
    if cron is not None:
        return Schedule(cron=cron, timezone=_known_timezone(timezone or "UTC"))
    if every is None:
        return None
    return Schedule(every_s=seconds("--every", every), stated=every.strip())


def seconds(flag: str, text: str) -> float:
    """A time in s, also as in 30m, 12h or 7d; UsageError for what is none."""
    match = _WORDED.match(text)
    stated = text if match is None else f"{match[1]} {_WORDS[match[2]]}"
    try:
        found = parse(stated, Dimension.TIME)[0]
    except ValueError as error:
        raise UsageError(flag, str(error), "Write it as 30m, 12h or 7d") from None
    if found < SHORTEST_S:
        raise UsageError(flag, f"{text} is too short", "Write it as 30m, 12h or 7d")
    if found > LONGEST_S:
        raise UsageError(flag, f"{text} is longer than ten years", "Write it as 30m or 7d")
    return found


def _known_timezone(name: str) -> str:
    if name not in zoneinfo.available_timezones():
        raise UsageError(
            f"--timezone {name}", "there is no such timezone", "Write it as Europe/Berlin"
        )
    return name

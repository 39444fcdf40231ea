"""Which known release stands for the one that was asked for, and which entries hold for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from catalog.errors import CatalogError


class Ranged(Protocol):
    """An entry for the releases from ``since`` to ``until`` and for some forms of launch."""

    @property
    def since(self) -> str | None: ...

    @property
    def until(self) -> str | None: ...


class Formed(Ranged, Protocol):
    """A ranged entry that may hold for some forms of launch only."""

    @property
    def forms(self) -> tuple[str, ...]: ...


R = TypeVar("R", bound=Ranged)
F = TypeVar("F", bound=Formed)


_RELEASE = re.compile(
    r"[a-z]*(\d+(?:\.\d+)*)(?:rc(\d+))?(?:\.?post(\d+))?(?:[+-][0-9A-Za-z.]+)?"
)
_NUMBERS = 5
_NO_CANDIDATE = 10**9  # a final release comes after all its candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release that was asked for, and the known one whose flags are taken for it."""

    runtime: str
    asked: str
    known: str
    order: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        """Whether the asked release itself is known."""
        return self.asked == self.known

    @property
    def threat(self) -> str | None:
        """What to doubt where the release itself is not known; None where it is."""
        if self.is_known:
            return None
        return (
            f"release {self.asked} of {self.runtime} is between those that runoff knows: "
            f"flags and metric names are those of {self.known}"
        )

    def covers(self, entry: Ranged) -> bool:
        """Whether an entry holds for the known release (both ends included)."""
        place = self.order.index(self.known)
        first = 0 if entry.since is None else self.order.index(entry.since)
        last = len(self.order) if entry.until is None else self.order.index(entry.until)
        return first <= place <= last

    def entries(self, entries: Iterable[R]) -> tuple[R, ...]:
        """Those of the entries that hold for this release."""
        return tuple(entry for entry in entries if self.covers(entry))

    def formed(self, entries: Iterable[F], form: str) -> tuple[F, ...]:
        """Those of the entries that hold for this release and this form of launch."""
        return tuple(
            entry for entry in self.entries(entries) if not entry.forms or form in entry.forms
        )


def known_release(runtime: str, versions: Sequence[str], asked: str) -> Release:
    """The known release of the same name, else the newest one below ``asked``.

    Raises
    ------
    CatalogError
        If ``asked`` is no version, older than all that are known, or newer.
    """
    order = tuple(versions)
    if asked in order:
        return Release(runtime=runtime, asked=asked, known=asked, order=order)
    wanted = _place(asked)
    placed = [(_place(known), known) for known in order]
    below = [known for place, known in placed if wanted and place and place <= wanted]
    above = [known for place, known in placed if wanted and place and place >= wanted]
    if not below or not above:
        raise CatalogError(
            f"{runtime} {asked}",
            "this release is outside those whose flags runoff knows",
            f"Use one of {', '.join(order)}, or describe it in a runtime folder of your own",
        )
    return Release(runtime=runtime, asked=asked, known=below[-1], order=order)


def _place(version: str) -> tuple[int, ...] | None:
    """Numbers that put releases in order, candidates before and posts after; None without."""
    match = _RELEASE.fullmatch(version)
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    padded = (*numbers, *[0] * (_NUMBERS - len(numbers)))
    candidate = int(match[2]) if match[2] else _NO_CANDIDATE
    return (*padded, candidate, int(match[3] or 0))

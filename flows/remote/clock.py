"""A host's monotonic clock as it is read from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """How far the host's monotonic clock is ahead of ours, and how closely that is known.

    ``error_ns`` is half the shortest way there and back: no difference of the two ways can
    make it wrong by more.
    """

    ahead_ns: int
    error_ns: int

    def there(self, here_ns: int) -> int:
        """Our time as the host's clock shows it."""
        return here_ns + self.ahead_ns

    def here(self, there_ns: int) -> int:
        """The host's time as our clock shows it."""
        return there_ns - self.ahead_ns


def offset_of(ask: Callable[[], int], now_ns: Callable[[], int]) -> Offset:
    """The offset by asking a few times: the quickest answer knows best (as NTP does)."""
    return min(
        (_asked_once(ask, now_ns) for _ in range(_ROUNDS)), key=lambda each: each.error_ns
    )


def _asked_once(ask: Callable[[], int], now_ns: Callable[[], int]) -> Offset:
    before_ns = now_ns()
    there_ns = ask()
    after_ns = now_ns()
    return Offset(
        ahead_ns=there_ns - (before_ns + after_ns) // 2,
        error_ns=(after_ns - before_ns + 1) // 2,
    )

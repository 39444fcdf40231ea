"""How long each part of a start took, by the lines that end the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deploy_templates.plan import Phase

FIRST_TOKEN: Final = "first token"  # noqa: S105 - a token of text


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """Duration of a part of the start; None where its line was not seen.

    Then the part's time is within that of the next one that was seen.
    """

    name: str
    duration_ns: int | None


def phase_times(
    phases: Sequence[Phase], seen_ns: Mapping[str, int], started_ns: int, ready_ns: int
) -> tuple[PhaseTime, ...]:
    """Durations in the order in which the parts ended; they sum to the whole start.

    ``seen_ns`` holds when the line that ends a phase was first seen. What comes after the last
    one, until a token was generated, is the phase ``first token``.
    """
    order = [phase.name for phase in phases]
    ended = sorted(
        (seen_ns[name], order.index(name), name) for name in order if name in seen_ns
    )
    times: list[PhaseTime] = []
    before_ns = started_ns
    for at_ns, _, name in ended:
        times.append(PhaseTime(name=name, duration_ns=at_ns - before_ns))
        before_ns = at_ns
    times.append(PhaseTime(name=FIRST_TOKEN, duration_ns=ready_ns - before_ns))
    missing = [PhaseTime(name=name, duration_ns=None) for name in order if name not in seen_ns]
    return (*times, *missing)

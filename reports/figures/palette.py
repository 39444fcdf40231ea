"""Colours by role, and a look for each candidate that needs no colour to be told apart.

Drawings are made with marks in place of colours; a page's style sheet says what they are in
light, dark and print (``--c1`` to ``--c6``, tested for contrast and for colour blindness).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_ROLES: Final = ("ink", "muted", "rule", "paper", "sheet", "pass", "fail", "warn")
_SERIES: Final = 6
_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_DASHES: Final[tuple[Any, ...]] = (
    "solid",
    (0, (6, 2)),
    (0, (2, 1.6)),
    (0, (7, 2, 1.5, 2)),
    (0, (4, 1.5, 1.2, 1.5, 1.2, 1.5)),
    (0, (10, 2.5)),
)
_MARK: Final = re.compile(r"#0([12])([0-9a-f]{2})01")

INK, MUTED, RULE, PAPER, SHEET, PASS, FAIL, WARN = (
    f"#01{place:02x}01" for place in range(len(_ROLES))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How one candidate is drawn in every figure."""

    colour: str
    marker: str
    dash: Any


def look(place: int) -> Look:
    """The look of the candidate at that place in the plan; after six the dashes move on."""
    turn = place // _SERIES
    return Look(
        colour=f"#02{place % _SERIES + 1:02x}01",
        marker=_MARKERS[(place + turn) % _SERIES],
        dash=_DASHES[(place + 2 * turn) % _SERIES],
    )


def with_variables(svg: str) -> str:
    """The drawing with the page's colour variables in place of marks."""
    return _MARK.sub(_variable, svg)


def _variable(found: re.Match[str]) -> str:
    place = int(found[2], 16)
    return f"var(--{_ROLES[place]})" if found[1] == "1" else f"var(--c{place})"

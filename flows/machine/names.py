"""A driver's name of a device against the catalog's title: model, and form factor.

``NVIDIA A100-SXM4-80GB`` and ``NVIDIA A100 80GB PCIe`` are one model in two forms; drivers
put the same words in other orders, leave the form out where there is only one, and add what
says nothing.
"""

from __future__ import annotations

import re
from typing import Final

_MEMORY: Final = re.compile(r"\d+(GB|G)")
_FORM: Final = re.compile(r"(SXM|PCIE|NVL|OAM)\d?")
_ONLY_SXM: Final = frozenset({"H200", "B200", "B300"})  # their other forms say theirs
_VENDORS: Final = frozenset({"NVIDIA", "AMD", "TESLA"})
_EMPTY: Final = frozenset({"EDITION", "GENERATION", "HBM2E", "HBM3", "HBM3E", "AC"})
_ANOTHER: Final = frozenset(
    {"TI", "SUPER", "LAPTOP", "MOBILE", "D", "MAX", "Q", "WORKSTATION", "GRID", "VGPU"}
)
_SHARE: Final = re.compile(r"\d+[ABCQ]")  # a virtual device's profile: A100-40C


def model_of(name: str) -> frozenset[str]:
    """The words that tell one model from another."""
    words = _words(name)
    return frozenset(
        word
        for word in words - _VENDORS - _EMPTY
        if not _MEMORY.fullmatch(word) and not _FORM.fullmatch(word)
    )


def is_another(wanted: frozenset[str], seen: frozenset[str]) -> bool:
    """Whether the words of what was seen are another model's, or a share of a device."""
    more = seen - wanted
    return (
        not wanted <= seen
        or bool(more & _ANOTHER)
        or any(_SHARE.fullmatch(word) for word in more)
    )


def form_of(name: str) -> str | None:
    """``SXM``, ``PCIE``, ``NVL`` or ``OAM``; None where the name does not tell."""
    words = _words(name)
    for word in sorted(words):
        found = _FORM.fullmatch(word)
        if found:
            return found[1]
    return "SXM" if words & (_ONLY_SXM | {"HBM3"}) else None


def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[\s/-]+", name.upper().strip()))

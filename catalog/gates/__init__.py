"""The gates, found by scanning this folder: a module with ``ORDER`` and ``judge``.

A gate is a pure function from a Case to a GateResult. ``READS_PRICE = True`` marks one whose
answer depends on the offer's price; the others are judged once for all offers that sell the
same placement. Modules whose name begins with an underscore are no gates.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from catalog.case import Case
    from catalog.verdict import GateResult


class Gate(NamedTuple):
    """One gate: its place in the order, its name, and the function that answers."""

    order: int
    name: str
    reads_price: bool
    judge: Callable[[Case], GateResult]


def all_gates() -> tuple[Gate, ...]:
    """Every gate of this folder, in the order in which candidates meet them."""
    return gates_in(sys.modules[__name__])


@cache
def gates_in(package: ModuleType) -> tuple[Gate, ...]:
    """Gates of a package, by scanning its folder; nothing has to be registered."""
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            reads_price = getattr(module, "READS_PRICE", False)
            found.append(Gate(module.ORDER, info.name, reads_price, module.judge))
    return tuple(sorted(found, key=lambda gate: (gate.order, gate.name)))

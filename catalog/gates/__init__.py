"""The gates, found by scanning this folder: a module with ``ORDER`` and ``judge``.

A gate is a pure function from a Case to a GateResult. ``READS`` says how much of the case its
answer depends on, so that thousands of combinations are not judged again for what does not
matter to it: ``ranks`` (devices, degree, model, contract: Placement.rank_facts), the whole
``placement`` (the default), or ``price`` as well. Modules whose name begins with an underscore
are no gates.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from catalog.case import Case
    from catalog.verdict import GateResult


Reads = Literal["ranks", "placement", "price"]


class Gate(NamedTuple):
    """One gate: its place in the order, its name, what it reads, and who answers."""

    order: int
    name: str
    reads: Reads
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
            reads: Reads = getattr(module, "READS", "placement")
            found.append(Gate(module.ORDER, info.name, reads, module.judge))
    return tuple(sorted(found, key=lambda gate: (gate.order, gate.name)))

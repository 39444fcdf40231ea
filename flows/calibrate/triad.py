"""One figure of a calibration alone: the triad of this machine's main memory."""

from __future__ import annotations

from pathlib import Path

from flows.calibrate.build import figures_of
from flows.calibrate.measure import HereTarget
from flows.calibrate.order import Manner, order_of
from flows.errors import InfrastructureError
from flows.machine.found import FoundMachine
from flows.system.facts import Bandwidth, SystemFacts

_WHAT = "memory triad, all"


def triad_here(system: SystemFacts) -> Bandwidth:
    """Bytes per second of the triad on this machine's cores, one thread each, measured now.

    Raises
    ------
    InfrastructureError
        If nothing here can measure it.
    """
    order = order_of(system, FoundMachine(), Manner(exploratory=True))
    steps = [step for group in order["groups"] for step in group["steps"]]
    alone = {"name": "memory", "steps": [step for step in steps if step["what"] == _WHAT]}
    raw = HereTarget(Path()).run({**order, "groups": [alone]})
    figures = [figure for _, figure in figures_of(raw)]
    if not figures:
        why = "; ".join(each["why"] for each in raw["unavailable"])
        raise InfrastructureError("memory bandwidth", why, "Install a C compiler, or NumPy")
    (found,) = figures
    doubt = "" if found.is_beyond_cache else "; the arrays lie partly within the caches"
    return Bandwidth(
        median=found.value,
        lowest=found.minimum,
        highest=found.maximum,
        repetitions=len(found.blocks),
        threads=found.threads or 1,
        array_bytes=(found.working_set_bytes or 0) // 3,
        method=f"{found.tool}, {found.threads} threads, median of {len(found.blocks)} blocks; "
        f"{found.bytes_counted}{doubt}",
    )

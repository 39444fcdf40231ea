"""The client measured the server, not itself."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, values_of, without_problems
from reports.run.checks_file import Check

_CONCERNS = ("send lag", "loop lag", "client CPU")


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether the client kept up with the load."""
    for cell in evidence.cells():
        yield cell.check(
            "client-health",
            "The client sends when it should and reads at once",
            "send lag p99 ≤ max(1 ms, 2% of the TTFT limit), loop lag p99 ≤ 10% of the ITL "
            "limit, at most 80% of a core",
            _seen(cell),
            decisive=True,
        )


def _seen(cell: Cell) -> Seen:
    found = {
        "send lag p99 {:.2g} ms": values_of(cell, "client", "send_lag_ms_p99"),
        "loop lag p99 {:.2g} ms": values_of(cell, "client", "loop_lag_ms_p99"),
        "{:.0%} of a core": values_of(cell, "client", "cpu_share"),
    }
    fine = ", ".join(form.format(max(values)) for form, values in found.items() if values)
    if cell.problems(*_CONCERNS):
        return without_problems(cell, _CONCERNS, "")
    if all(found.values()):
        return "pass", f"at worst {fine}"
    said = f", only {fine}" if fine else ""
    return "unknown", f"the client does not say all of itself{said}"

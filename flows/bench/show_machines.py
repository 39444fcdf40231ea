"""What a person reads of the client machines where the load came from several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from catalog.quantity import significant
from flows.console import Console


def show_machines(console: Console, document: Mapping[str, Any]) -> None:
    """Print whence the load came and how its clocks agree; nothing where it came from here."""
    machines = document.get("load_machines")
    if not machines:
        return
    shards = Counter(machine["name"] for machine in machines)
    names = ", ".join(f"{name} ({count})" for name, count in sorted(shards.items()))
    error = significant(max(machine["clock_error_ms"] for machine in machines), 3)
    ahead = sorted(machine["clock_ahead_ms"] for machine in machines)
    clocks = f"{significant(ahead[0], 3)} to {significant(ahead[-1], 3)} ms ahead of ours"
    console.heading("Client machines")
    console.paragraphs(
        [
            f"Shards by machine: {names}. All began at one instant.",
            f"Their clocks, compared before and after: {clocks}, within ±{error} ms.",
            "Latencies are differences of one machine's clock: none of this changes them.",
        ]
    )

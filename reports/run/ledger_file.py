"""``ledger.jsonl``: money, machines, launches and cells, each line written before acting.

A line is one JSON object with ``at`` (UTC), ``event`` and the event's facts. A last line that
is cut off (the writer was killed) is ignored. Events:

    acquiring, acquired, releasing, released     host, offer, price_usd_per_hour, machine
    interruption, rebalance                      host, told (the cloud's words of its end)
    calibrated, not-calibrated                   host, fingerprint, given_up; why
    launching, launched, launch-failed, stopped  candidate, replication, host, launch
    measuring, measured, discarded, skipped      candidate, load_point, replication, why
    spent                                        usd, seconds (running total of the run)
    budget-stop, interrupted, resumed, concluded why
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports.errors import ReportsError


def read_ledger(path: Path) -> tuple[dict[str, Any], ...]:
    """All whole lines in order; an absent file has none.

    Raises
    ------
    ReportsError
        For a line, not the last, that is no JSON object.
    """
    if not path.exists():
        return ()
    lines = path.read_bytes().split(b"\n")
    entries = []
    for number, line in enumerate(lines, start=1):
        entry = _object(line) if line.strip() else None
        if entry is not None:
            entries.append(entry)
        elif line.strip() and number < len(lines):
            raise ReportsError(
                f"{path}:{number}", "this line is no ledger entry", "Restore the file"
            )
    return tuple(entries)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None

"""``history.json``: comparable earlier runs, as they were when this one was concluded.

The history's series are drawn from it, so that the same run gives the same page wherever it
lies and whatever came later.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Literal

from reports.history.facts import RunFacts
from reports.run.number import Frozen

FORMAT = 1


class HistoryFile(Frozen):
    """Earlier comparable runs, oldest first; of each only what a series needs."""

    schema_version: Literal[1] = 1
    runs: tuple[RunFacts, ...]

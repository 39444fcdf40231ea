"""The decision: who serves, why, and what would change it. Pure computation.

`decide` takes what was measured, what was planned, what the checks found, and the time.
"""

from reports.decide.decision import decide

__all__ = ["decide"]

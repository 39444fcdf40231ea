"""Two runs side by side: what differs in what was asked, what it ran on and what came out."""

from reports.diff.facts import Difference
from reports.diff.measures import Compared
from reports.diff.whole import RunDiff, diff_runs

__all__ = ["Compared", "Difference", "RunDiff", "diff_runs"]

"""What a campaign measured, from its evidence files alone: no decision is in it."""

from reports.summary.whole import summary_of

__all__ = ["summary_of"]

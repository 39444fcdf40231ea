"""Whether the decision of an earlier run still stands: pinned, measured beside, answered."""

"""A run decided again under other prices, limits, traffic or load, from what was measured.

Nothing is measured, nothing is interpolated, and nothing is written: an answer bears the stamp
WHAT-IF and cannot be signed.
"""

from reports.whatif.asked import Asked
from reports.whatif.supposed import Supposed, suppose

__all__ = ["Asked", "Supposed", "suppose"]

"""Do the catalog's facts agree with each other? Pure checks; what day it is is passed in."""

from catalog.sanity.check import check, check_runtimes
from catalog.sanity.finding import Finding, Severity

__all__ = ["Finding", "Severity", "check", "check_runtimes"]

"""The run directory as it is written: whole files, a ledger, cells that are kept once."""

from flows.store.runs import find_run, fingerprint8, run_name
from flows.store.store import Store

__all__ = ["Store", "find_run", "fingerprint8", "run_name"]

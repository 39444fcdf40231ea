"""Other tools' result files as a run of ours: compared and reported, never signed."""

from flows.importing.run import import_run

__all__ = ["import_run"]

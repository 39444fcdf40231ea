"""The exception tree of everything that acts; each class maps to one exit code.

RunoffError
├── UsageError            2  a flag or a file cannot be used
├── NothingSurvives       3  every candidate stopped at a gate
├── EvidenceError         7  a check of the evidence failed
├── InfrastructureError   8  capacity, boot, launch or health
│   ├── InstallError         the pinned release could not be put on this machine
│   └── LaunchError          a server did not come up as planned, died, or would not go
├── BudgetStop            9  the next step would exceed the budget
└── StillBilled          10  machines may still be billed
Finished                  –  a verb has said all it had to say and ends with a code
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """What a shell or a CI job learns from a verb."""

    DECIDED = 0
    BUG = 1
    USAGE = 2
    NOTHING_SURVIVES = 3
    NONE_COMPLIES = 4
    INCONCLUSIVE = 5
    REGRESSION = 6
    EVIDENCE = 7
    INFRASTRUCTURE = 8
    BUDGET = 9
    STILL_BILLED = 10
    INTERRUPTED = 130


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.DECIDED: "decision reached, evidence complete",
    ExitCode.BUG: "a bug",
    ExitCode.USAGE: "usage, or a file is invalid",
    ExitCode.NOTHING_SURVIVES: "every candidate stopped at a gate",
    ExitCode.NONE_COMPLIES: "measured, none meets the contract",
    ExitCode.INCONCLUSIVE: "inconclusive",
    ExitCode.REGRESSION: "regression against the baseline, or another decision",
    ExitCode.EVIDENCE: "evidence check failed (client-bound, unsteady, too few)",
    ExitCode.INFRASTRUCTURE: "infrastructure: endpoint, launch or health",
    ExitCode.BUDGET: "budget stop",
    ExitCode.STILL_BILLED: "machines may still be billed: act now",
    ExitCode.INTERRUPTED: "interrupted",
}


class RunoffError(Exception):
    """Something a user can act on: where it happened, what was seen, what to do."""

    exit_code = ExitCode.BUG

    def __init__(self, where: str, seen: str, do: str) -> None:
        super().__init__(f"{where}: {seen}. {do}" if do else f"{where}: {seen}.")
        self.where = where
        self.seen = seen
        self.do = do


class UsageError(RunoffError):
    """A flag or a file cannot be used."""

    exit_code = ExitCode.USAGE


class NothingSurvives(RunoffError):
    """Every candidate stopped at a gate."""

    exit_code = ExitCode.NOTHING_SURVIVES


class EvidenceError(RunoffError):
    """A check of the evidence failed."""

    exit_code = ExitCode.EVIDENCE


class InfrastructureError(RunoffError):
    """Capacity, boot, launch or health."""

    exit_code = ExitCode.INFRASTRUCTURE


class InstallError(InfrastructureError):
    """The pinned release could not be put on this machine."""


class LaunchError(InfrastructureError):
    """A server did not come up as planned, died, or would not go.

    ``kind`` is the short name of what happened: ``out of memory``, ``port in use``, …
    """

    def __init__(self, kind: str, where: str, seen: str, do: str) -> None:
        super().__init__(where, seen, do)
        self.kind = kind


class BudgetStop(RunoffError):
    """The next step would exceed the budget."""

    exit_code = ExitCode.BUDGET


class StillBilled(RunoffError):
    """Machines may still be billed."""

    exit_code = ExitCode.STILL_BILLED


class Finished(Exception):
    """A verb's output is complete; the process ends with this code."""

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(exit_code.name)
        self.exit_code = exit_code

"""Answers of the measuring process; exceptions themselves do not travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flows import errors
from flows.errors import InfrastructureError, RunoffError


@dataclass(frozen=True, slots=True)
class Value:
    """What a job gave."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A job ended with an error of ours, by the name of its class."""

    kind: str
    where: str
    seen: str
    do: str

    def error(self) -> RunoffError:
        """The error as it was raised there."""
        kind: type[RunoffError] = getattr(errors, self.kind, InfrastructureError)
        if kind.__init__ is not RunoffError.__init__:  # it takes more than these three
            kind = InfrastructureError
        return kind(self.where, self.seen, self.do)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A job was stopped before it had anything to show."""


Answer = Value | Failed | Interrupted

"""What the log of a flow's run says of an end that the flow chose: its sentence alone.

Prefect's engine asks a run that has ended for its result. One that returned a Failed or a
Cancelled state has none, and what is raised then is logged as an unexpected exception, with
its traceback, on the worker's machine and in the UI. No setting leaves it out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from prefect.client.schemas.objects import State
from prefect.exceptions import CancelledRun, FailedRun


def told_plainly(state: State[Any]) -> State[Any]:
    """The state; this process logs of it its message, and no traceback."""
    logging.getLogger("prefect.flow_runs").addFilter(_Plain(state.message))
    return state


@dataclass(frozen=True, slots=True)
class _Plain:
    """Takes the traceback off what was raised of a state with this message alone."""

    message: str | None

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is logged: always."""
        raised = record.exc_info[1] if record.exc_info else None
        if isinstance(raised, FailedRun | CancelledRun) and str(raised) == self.message:
            record.msg, record.args, record.exc_info = self.message, (), None
        return True

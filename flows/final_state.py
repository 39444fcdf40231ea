"""What a flow's final state says of how a verb ended.

====================================  =============================================
0                                     Completed
3, 4, 5 (verdicts)                    Completed, named NothingSurvives, NoneComplies,
                                      Inconclusive
1, 2, 6, 7, 8, 9, 10                  Failed, so that automations on failures fire
130                                   Cancelled
a missed or an overlapping run        Cancelled, named Skipped
====================================  =============================================

Its message begins with the exit code and goes on with the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Failed

from catalog.errors import CatalogError
from flows.errors import ExitCode, RunoffError
from reports.errors import DiskError, ReportsError

_VERDICTS: Final = {
    ExitCode.NOTHING_SURVIVES: "NothingSurvives",
    ExitCode.NONE_COMPLIES: "NoneComplies",
    ExitCode.INCONCLUSIVE: "Inconclusive",
}
Told = tuple[ExitCode, str]
"""How a verb ended, and the sentence."""


def ended(run: Callable[[], Told], allow: Sequence[int] = ()) -> State[Any]:
    """The final state of what a verb does; errors become what the shell would see."""
    try:
        code, sentence = run()
    except DiskError as error:
        code, sentence = ExitCode.INFRASTRUCTURE, str(error)
    except (CatalogError, ReportsError) as error:
        code, sentence = ExitCode.USAGE, str(error)
    except RunoffError as error:
        code, sentence = error.exit_code, str(error)
    except KeyboardInterrupt:
        code, sentence = ExitCode.INTERRUPTED, "interrupted before there was anything to tell"
    return final_state(code, sentence, allow)


def final_state(code: ExitCode, sentence: str, allow: Sequence[int]) -> State[Any]:
    """The state that says what an exit code and a sentence say; ``allow``: see the form."""
    message = f"exit code {int(code)}: {sentence}"
    if code == ExitCode.DECIDED or code in allow:
        return Completed(message=message)
    if code in _VERDICTS:
        return Completed(message=message, name=_VERDICTS[code])
    if code == ExitCode.INTERRUPTED:
        return Cancelled(message=message)
    return Failed(message=message)


def skipped(why: str) -> State[Any]:
    """The state of a run that was not to be."""
    return Cancelled(name="Skipped", message=f"skipped: {why}")

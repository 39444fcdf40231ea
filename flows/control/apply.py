"""A machine's settings made, read back, and put back.

What would undo a change lies on the machine's disk before the change is made, as a script
that needs only a shell: the next start of a controller runs it, and so does the switch that
ends a rented machine. Runs on the machine: standard library only.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from flows.control.expand import expanded
from flows.control.host import Host, Ran
from flows.control.step import Outcome, Status, Step, alike

SCRIPT: Final = "restore.sh"
PUT_BACK: Final = "an earlier controller left its settings; they were put back"
DEAD_MAN: Final = "/var/lib/runoff"  # there the switch of a rented machine looks for a script
_SAID: Final = 300
_UNDO_S: Final = 150.0  # four settings of eight devices, each a second of a slow driver's
_NOT_PERMITTED: Final = (
    *("permission", "not permitted", "read-only file system", "must be root", "requires root"),
    *("password is required", "no new privileges", "need to be root", "elevated"),
)
_UNAVAILABLE: Final = ("not supported", "not_supported", "n/a", "not found", "no such file")


@dataclass(slots=True, kw_only=True)
class Control:
    """Settings in force, and how each came out; ``leftover`` was undone before the first."""

    outcomes: list[Outcome] = field(default_factory=list)
    leftover: str | None = None
    undo: list[tuple[Step, Outcome]] = field(default_factory=list)

    @property
    def threats(self) -> tuple[str, ...]:
        """What the experiment does not control on this machine, in words."""
        return tuple(
            f"{each.name.replace('_', ' ')} of {each.target}: {each.status}"
            + (f" ({each.said})" if each.said else "")
            for each in self.outcomes
            if each.status not in ("applied", "accepted")
        )

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values, for ``hosts/<id>/control.json``."""
        return {
            "settings": [each.to_json() for each in self.outcomes],
            "leftover": self.leftover,
            "threats": list(self.threats),
        }


@contextmanager
def controlled(
    host: Host,
    order: Iterable[Mapping[str, Any]],
    folder: str,
    *,
    dead_man: str | None = DEAD_MAN,
) -> Iterator[Control]:
    """The machine under control within the block; put back at its end, whatever ends it."""
    control = Control()
    try:
        apply(host, order, folder, control, dead_man=dead_man)
        yield control
    finally:
        restore(host, control, folder, dead_man=dead_man)


def apply(
    host: Host,
    order: Iterable[Mapping[str, Any]],
    folder: str,
    control: Control,
    *,
    dead_man: str | None = DEAD_MAN,
) -> None:
    """Make the settings, one after the other; none that fails keeps the others from being made.

    ``folder`` is the machine's own, the same at every start: what an earlier controller left
    there is undone first, and nothing is changed while that does not succeed. ``dead_man`` is
    where a rented machine's switch looks. ``control`` holds at any time what is to be undone.
    """
    control.leftover = restore_leftover(host, folder, dead_man=dead_man)
    is_free = control.leftover in (None, PUT_BACK)
    steps = [(step, _looked_at(step, host)) for step in expanded(order, host)]
    control.outcomes = [outcome for _, outcome in steps]
    to_do = [each for each in steps if each[1].status == "open"]
    if not is_free:
        for _, outcome in to_do:
            outcome.status, outcome.said = "refused", "an earlier experiment is not undone"
        return
    _write(host, to_do, folder, dead_man)
    for step, outcome in to_do:
        control.undo.append((step, outcome))
        _make(step, outcome, host)
        is_refused = outcome.status in ("not permitted", "unavailable")
        if is_refused and _is_back(step, outcome, host):
            control.undo.pop()  # else some of its files were written before one was refused
    _write(host, control.undo, folder, dead_man)


def restore(
    host: Host, control: Control, folder: str, *, dead_man: str | None = DEAD_MAN
) -> Control:
    """Put back what was changed, last change first, and read it back."""
    whole = True
    for step, outcome in reversed(control.undo):
        ran = host.run((*host.prefix, *_undo(step, outcome)))
        outcome.restored = ran.code == 0 and _is_back(step, outcome, host)
        whole = whole and outcome.restored
        if not outcome.restored:
            outcome.said = _words(ran)
    if control.undo and whole:
        control.undo.clear()
        _forget(host, folder, dead_man)
    return control


def restore_leftover(host: Host, folder: str, *, dead_man: str | None = DEAD_MAN) -> str | None:
    """Undo what an earlier controller left behind; what was found, or None for nothing.

    A script that does not come to a good end stays, and is run again by the next start.
    """
    script = str(PurePosixPath(folder, SCRIPT))
    if host.read(script) is None:
        return None
    ran = host.run(("sh", script), within_s=_UNDO_S)
    if ran.code == 0:
        _forget(host, folder, dead_man)
        return PUT_BACK
    return f"an earlier controller left its settings; they are not all back: {_words(ran)}"


def _looked_at(step: Step, host: Host) -> Outcome:
    """The setting before anything is done; ``open`` is still to be made."""
    outcome = Outcome(name=step.name, target=step.target, requested=step.wanted)
    if step.refused:
        outcome.status = "refused" if step.is_known else "unavailable"
        outcome.said = step.refused
        return outcome
    outcome.before = step.found(host)
    if step.is_wanted(outcome.before) and not step.shows_under_load:
        outcome.applied, outcome.status = outcome.before, "applied"
    elif outcome.before is None:
        outcome.status = "unavailable"
        outcome.said = "it cannot be read"
    return outcome


def _make(step: Step, outcome: Outcome, host: Host) -> None:
    ran = host.run((*host.prefix, *step.set))
    refusal = _refusal(ran)
    if refusal is not None:
        outcome.status, outcome.said = refusal, _words(ran)
        return
    outcome.applied = step.found(host)
    if step.is_wanted(outcome.applied):
        outcome.status = "applied"
    elif step.shows_under_load or outcome.applied is None:
        outcome.status = "accepted"
    else:
        outcome.status, outcome.said = "not held", f"it reads {outcome.applied}"


def _refusal(ran: Ran) -> Status | None:
    """Why a setting was not made. A tool may say that it was not, and end with code 0."""
    said = ran.output.lower()
    if ran.code == 0:
        return "unavailable" if "not supported" in said else None
    if any(mark in said for mark in _NOT_PERMITTED):
        return "not permitted"
    return "unavailable" if any(mark in said for mark in _UNAVAILABLE) else "failed"


def _undo(step: Step, outcome: Outcome) -> tuple[str, ...]:
    before = outcome.before or ""
    return tuple(word.replace("{before}", before) for word in step.restore)


def _is_back(step: Step, outcome: Outcome, host: Host) -> bool:
    if step.shows_under_load or outcome.before is None:
        return True  # the tool's word: an unlocked clock is wherever its load puts it
    found = step.found(host)
    return found is not None and alike(found, outcome.before, step.tolerance)


def _write(
    host: Host, changes: list[tuple[Step, Outcome]], folder: str, dead_man: str | None
) -> None:
    if not changes:
        _forget(host, folder, dead_man)
        return
    lines = [
        shlex.join((*host.prefix, *_undo(step, outcome))) + " || bad=1"
        for step, outcome in reversed(changes)
    ]
    text = "\n".join(
        (
            "#!/bin/sh",
            "# Puts back what an experiment changed on this machine; it may be run again.",
            "bad=0",
            *lines,
            "exit $bad",
            "",
        )
    )
    script = str(PurePosixPath(folder, SCRIPT))
    host.write(script, text, 0o700)
    if dead_man is not None and host.read(f"{dead_man}/expires") is not None:
        place = f"{dead_man}/{SCRIPT}"
        host.run((*host.prefix, "install", "-m", "0700", script, place))


def _forget(host: Host, folder: str, dead_man: str | None) -> None:
    host.remove(str(PurePosixPath(folder, SCRIPT)))
    if dead_man is not None and host.read(f"{dead_man}/expires") is not None:
        host.run((*host.prefix, "rm", "-f", f"{dead_man}/{SCRIPT}"))


def _words(ran: Ran) -> str:
    return " ".join(ran.output.split())[:_SAID] or f"it ended with code {ran.code}"

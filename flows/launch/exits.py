"""What the end of a process says about its reason."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final

_CRASHES: Final = {
    "SIGILL": "The build uses instructions that this CPU lacks: take another build",
    "SIGSEGV": "Read its log; another release may not have the fault",
    "SIGABRT": "Read its log",
    "SIGBUS": "Look at the free space of the disk and of /dev/shm",
    "SIGFPE": "Read its log; another release may not have the fault",
}
_CODES: Final = {
    0: ("it ended by itself, without an error", "Read its log: was it told to serve?"),
    2: ("it ended with code 2, as programs do for a flag that they lack", "Read its log"),
    126: ("its program cannot be run (126)", "Check its permissions"),
    127: ("its program was not found (127)", "Install it, or say where it is"),
}
_MEMORY: Final = "Lower the context or the number of sequences, or take more memory"
_WHO: Final = "Find out who sent it"
_SHELL_OFFSET: Final = 128  # a shell reports a signal as 128 and its number


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a process ended: a short name, a sentence, and what to do."""

    code: int
    kind: str
    sentence: str
    do: str


def explained(code: int, memory_kills: int) -> Exit:
    """The reason for an end, as far as it shows.

    ``code`` is the exit code, or minus the signal; ``memory_kills`` counts processes that the
    kernel killed for want of memory while it lived: the server, or a worker of it.
    """
    kind, sentence, do = _reason(code)
    if memory_kills and code != 0:
        return Exit(
            code=code,
            kind="out of memory",
            sentence=f"{sentence}, and the kernel's count of processes killed for want of "
            f"memory rose by {memory_kills} meanwhile",
            do=f"{_MEMORY}; dmesg names the process",
        )
    return Exit(code=code, kind=kind, sentence=sentence, do=do)


def _reason(code: int) -> tuple[str, str, str]:
    """Kind, sentence and advice by the code alone."""
    name = _signal_name(-code if code < 0 else code - _SHELL_OFFSET)
    if name == "SIGKILL":
        sentence = f"it was killed ({code}, SIGKILL), by the kernel or by somebody"
        return "killed", sentence, f"Look into dmesg. If memory was short: {_MEMORY.lower()}"
    if name is not None:
        kind = "crashed" if name in _CRASHES else "ended by a signal"
        return kind, f"it was ended by {name} ({code})", _CRASHES.get(name, _WHO)
    sentence, do = _CODES.get(code, (f"it ended by itself with code {code}", "Read its log"))
    return "ended", sentence, do


def _signal_name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None

"""A host as the machine whose clocks and kernel settings ``flows.control`` sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flows.control.host import LIMIT_S, Ran
from flows.remote.host import ANSWER_S, RemoteHost


@dataclass(frozen=True, slots=True)
class There:
    """Programs, small files and the right to set them, on a host over SSH."""

    host: RemoteHost
    prefix: tuple[str, ...] = ()

    def run(self, argv: Sequence[str], *, within_s: float = LIMIT_S) -> Ran:
        """Run a program to its end, within half a minute unless it may take longer."""
        code, output = self.host.ask(
            "ran", limit_s=within_s + ANSWER_S, argv=list(argv), within_s=within_s
        )
        return Ran(code, output)

    def read(self, path: str) -> str | None:
        """A small file's text; None where it cannot be read."""
        found: str | None = self.host.ask("small_text", path=path)
        return found

    def paths(self, pattern: str) -> tuple[str, ...]:
        """Full paths that fit, in order."""
        return tuple(self.host.ask("paths", pattern=pattern))

    def write(self, path: str, text: str, mode: int) -> None:
        """Write a file whole, and through to the disk."""
        self.host.ask("keep_text", path=path, text=text, mode=mode)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        self.host.ask("remove_file", path=path)


def controlled(host: RemoteHost) -> There:
    """The host with the words that make a command an administrator's there."""
    return There(host, tuple(host.ask("administrators_words")))

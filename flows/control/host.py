"""The hands of a controller on a machine: programs, small files, and the right to set them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

LIMIT_S: Final = 30.0
_NO_PROGRAM: Final = 127
_TIMED_OUT: Final = 124


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended: its exit code, and all that it said."""

    code: int
    output: str


class Host(Protocol):
    """A machine, here or elsewhere."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words before a command that only an administrator may run."""

    def run(self, argv: Sequence[str], *, within_s: float = LIMIT_S) -> Ran:
        """Run a program to its end, within a time limit."""

    def read(self, path: str) -> str | None:
        """A small file's text without blanks at its ends; None where it cannot be read."""

    def paths(self, pattern: str) -> tuple[str, ...]:
        """Full paths that fit a pattern below the machine's root, in order."""

    def write(self, path: str, text: str, mode: int) -> None:
        """Write a file whole, and through to the disk."""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""


@dataclass(frozen=True, slots=True)
class Here:
    """This machine; ``root`` is where its /sys and /proc are found."""

    root: Path = Path("/")
    prefix: tuple[str, ...] = ()

    def run(self, argv: Sequence[str], *, within_s: float = LIMIT_S) -> Ran:
        """Run a program to its end, within half a minute unless it may take longer."""
        try:
            done = subprocess.run(  # noqa: S603 - words of our own templates
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=within_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ran(_TIMED_OUT, f"no answer within {within_s:g} s")
        except OSError as error:
            return Ran(_NO_PROGRAM, f"{argv[0]}: {error.strerror}")
        return Ran(done.returncode, done.stdout)

    def read(self, path: str) -> str | None:
        """A small file's text; absolute paths are taken as they are."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def paths(self, pattern: str) -> tuple[str, ...]:
        """Full paths below the root that fit."""
        return tuple(str(path) for path in sorted(self.root.glob(pattern.lstrip("/"))))

    def write(self, path: str, text: str, mode: int) -> None:
        """Write a file aside, to the disk, then under its name."""
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_name(f".{place.name}.{os.getpid()}")
        with aside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.chmod(mode)
        aside.replace(place)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        Path(path).unlink(missing_ok=True)


def administrator() -> tuple[str, ...]:
    """Words that make a command an administrator's here; none for root, or where none help."""
    if os.geteuid() == 0:
        return ()
    return ("sudo", "-n") if Here().run(("sudo", "-n", "true")).code == 0 else ()

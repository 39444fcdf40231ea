"""Files of /proc and /sys as text, below a root that may be another folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Texts:
    """Reads small files below ``root``; what is not there or not ours to read is None."""

    root: Path = Path("/")

    def read(self, path: str) -> str | None:
        """The file's text without blanks at its ends; None for nothing."""
        try:
            text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return text.strip() or None

    def number(self, path: str) -> int | None:
        """The whole number in the file; None where there is none."""
        return whole(self.read(path))

    def folders(self, path: str, prefix: str) -> Iterator[tuple[int, str]]:
        """Number and path of the entries ``<prefix><number>``, by number."""
        try:
            names = [entry.name for entry in (self.root / path).iterdir()]
        except OSError:
            return
        numbers = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
        for number in sorted(int(each) for each in numbers if each.isdigit()):
            yield number, f"{path}/{prefix}{number}"

    def exists(self, path: str) -> bool:
        """Whether something stands there."""
        return (self.root / path).exists()


def whole(text: str | None) -> int | None:
    """The whole number that the text is, else None."""
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def cpu_list(text: str | None) -> tuple[int, ...]:
    """CPUs of the kernel's list form: ``0-3,8`` is 0, 1, 2, 3, 8."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            found.update(range(int(first), int(last if last.isdigit() else first) + 1))
    return tuple(sorted(found))


def cache_bytes(text: str | None) -> int | None:
    """Bytes of the kernel's cache size: ``32768K``."""
    scale = {"K": 2**10, "M": 2**20, "G": 2**30}
    if text and text[-1] in scale:
        number = whole(text[:-1])
        return number * scale[text[-1]] if number is not None else None
    return whole(text)

"""One setting of a machine: how it is read, set and put back, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from flows.control.host import Host

Status = Literal[
    "open",  # not made yet
    "applied",  # read back as asked
    "accepted",  # the tool took it; it shows under load, in the telemetry
    "not held",  # taken, and read back as something else
    "not permitted",
    "unavailable",
    "refused",  # by us
    "failed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A setting to be made by two commands; ``{before}`` in ``restore`` is what was read.

    ``words`` turns what is read into what is asked (``Enabled``: ``1``); ``value`` are dotted
    keys of the JSON that is read, the first that is there counts. A step that is ``refused`` is
    not taken; one that is not ``is_known`` is of no use on this machine.
    """

    name: str
    target: str
    wanted: str
    read: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    value: tuple[str, ...] = ()
    tolerance: float = 0.0
    shows_under_load: bool = False
    refused: str = ""
    is_known: bool = True
    files: tuple[str, ...] = ()
    bracketed: bool = False

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Step:
        """The step that a JSON object describes."""
        known = {each.name for each in fields(cls)}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in told.items()
            if name in known
        }
        return cls(**values)

    def found(self, host: Host) -> str | None:
        """The setting as it is now, in the words in which it is asked; None if untold."""
        if self.files:
            return self._in_files(host)
        ran = host.run(self.read)
        if ran.code != 0:
            return None
        text = ran.output.strip()
        if self.value:
            return _of_json(text, self.value)
        told = text.splitlines()[0].strip() if text else ""
        if not told or told.startswith("[") or told == "N/A":
            return None
        return self.words.get(told, told)

    def _in_files(self, host: Host) -> str | None:
        values = set(texts_of(self.files, host).values())
        if len(values) != 1:
            return None  # files that differ have no one value
        text = values.pop()
        if self.bracketed:
            text = next((word.strip("[]") for word in text.split() if word[0] == "["), text)
        return self.words.get(text, text)

    def is_wanted(self, found: str | None) -> bool:
        """Whether what was read is what is asked, within the tolerance."""
        return found is not None and alike(found, self.wanted, self.tolerance)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of a setting. ``restored`` is None where nothing had been changed."""

    name: str
    target: str
    requested: str
    before: str | None = None
    applied: str | None = None
    status: Status = "open"
    said: str = ""
    restored: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        return asdict(self)


def texts_of(paths: Sequence[str], host: Host) -> dict[str, str]:
    """The first line of each file that can be read; one command for hundreds of them."""
    found: dict[str, str] = {}
    for line in host.run(("grep", "-H", "", *paths)).output.splitlines() if paths else ():
        path, apart, text = line.partition(":")
        if apart and path in paths:
            found.setdefault(path, text.strip())
    return found


def alike(one: str, other: str, tolerance: float = 0.0) -> bool:
    """Whether two values are the same word, or numbers no further apart than the tolerance."""
    try:
        return abs(float(one) - float(other)) <= tolerance
    except ValueError:
        return one == other


def _of_json(text: str, keys: tuple[str, ...]) -> str | None:
    try:
        told = json.loads(text)
    except ValueError:
        return None
    told = told.get("gpu_data", told) if isinstance(told, dict) else told
    told = told[0] if isinstance(told, list) and told else told
    return next(_values(told, keys), None)


def _values(told: Any, keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        found = told
        for part in key.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(found, dict):
            found = found.get("value")
        if isinstance(found, int | float):
            yield f"{found:g}"

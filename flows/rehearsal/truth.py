"""What really happened, as the engine itself saw it: one record per request.

A truth file is JSON lines. The first is `{"format": 1, "anchor_monotonic_ns", "anchor_unix_ns",
"overruns"}`, then one object per request with the keys of `TrueRequest`. Times are monotonic
nanoseconds of this machine, comparable with any other process on it. A write's time is taken
just before its bytes are handed to the socket.
"""

from __future__ import annotations

import json
import os
import time
from array import array
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(slots=True, kw_only=True)
class TrueRequest:
    """One request: when it came, and each event that was written for it.

    `ident` is the id in its answer. `write_ns` and `write_tokens` run in parallel: time of
    a write and the tokens in it (0 for role chunks, usage, [DONE] and comments).
    """

    number: int
    ident: str
    path: str
    connection: int
    reused: bool
    first_byte_ns: int
    arrived_ns: int
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    preemptions: int = 0
    status: int = 0
    outcome: str = "open"
    write_ns: array[int] = field(default_factory=lambda: array("q"))
    write_tokens: array[int] = field(default_factory=lambda: array("q"))
    ended_ns: int = 0

    @property
    def token_times_ns(self) -> list[int]:
        """Times of the writes that carried tokens."""
        pairs = zip(self.write_ns, self.write_tokens, strict=False)
        return [at_ns for at_ns, tokens in pairs if tokens]

    def to_json(self) -> dict[str, object]:
        """Return the JSON object from which `from_json` makes this record again."""
        row = {item.name: getattr(self, item.name) for item in fields(self)}
        return row | {name: list(row[name]) for name in ("write_ns", "write_tokens")}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> TrueRequest:
        """Record from a line of a truth file."""
        stamps = {name: array("q", row[name]) for name in ("write_ns", "write_tokens")}
        return cls(**(row | stamps))


@dataclass(slots=True, kw_only=True)
class Truth:
    """A whole run of the engine."""

    anchor_monotonic_ns: int
    anchor_unix_ns: int
    overruns: int
    requests: list[TrueRequest]

    def by_ident(self) -> dict[str, TrueRequest]:
        """Requests by the id of their answers."""
        return {request.ident: request for request in self.requests}


def write_truth(path: Path, requests: list[TrueRequest], overruns: int) -> None:
    """Write the file aside and move it into place."""
    anchor = {
        "format": FORMAT,
        "anchor_monotonic_ns": time.monotonic_ns(),
        "anchor_unix_ns": time.time_ns(),
        "overruns": overruns,
    }
    aside = path.with_name(path.name + ".part")
    with aside.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(anchor) + "\n")
        stream.writelines(json.dumps(request.to_json()) + "\n" for request in requests)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(path)


def read_truth(path: Path) -> Truth:
    """Return what a truth file holds."""
    with path.open(encoding="utf-8") as stream:
        anchor = json.loads(next(stream))
        if anchor.pop("format") != FORMAT:
            raise ValueError(f"{path} is not a truth file of format {FORMAT}")
        return Truth(
            **anchor, requests=[TrueRequest.from_json(json.loads(line)) for line in stream]
        )

"""The ledger as it is written: a line is on the disk before what it says is done."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from threading import Lock
from typing import Any

from flows.store.disk import settle, told


class Ledger:
    """``ledger.jsonl`` open for appending; what a killed writer left torn is cut off."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = Lock()  # hosts of a campaign are served by threads of their own
        with told(path):
            is_new = not path.exists()
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            if is_new:
                settle(path.parent)
            self._length = _whole_bytes(path.read_bytes())
            os.ftruncate(self._descriptor, self._length)
            os.fsync(self._descriptor)

    def append(self, at: dt.datetime, event: str, facts: dict[str, Any]) -> None:
        """Append one entry and return when it is on the disk; a failure leaves no trace."""
        entry = {"at": at.isoformat(timespec="microseconds"), "event": event, **facts}
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with self._turn, told(self._path):
            try:
                _write_all(self._descriptor, line)
                os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._length)
                raise
            self._length += len(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _whole_bytes(content: bytes) -> int:
    """Length of the part that ends with a whole entry."""
    end = content.rfind(b"\n") + 1
    while end and not _is_entry(content[content.rfind(b"\n", 0, end - 1) + 1 : end]):
        end = content.rfind(b"\n", 0, end - 1) + 1
    return end


def _is_entry(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False

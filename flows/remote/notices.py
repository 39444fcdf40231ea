"""What AWS tells a machine of its own end: ``python -P -m flows.remote.notices FILE``.

Asks the machine's metadata (IMDSv2) every few seconds and writes what is new into FILE. Two
minutes before a spot machine is taken back there is a notice; earlier there may be advice to
leave it. Ends with the notice: nothing more is to be learnt then. Runs on the host: standard
library only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from flows.remote.job_folder import write

ENDPOINT: Final = "AWS_EC2_METADATA_SERVICE_ENDPOINT"  # as AWS's own tools call it
EVERY_S: Final = 2.0
_USUAL: Final = "http://169.254.169.254"
_TOKEN: Final = "latest/api/token"  # noqa: S105 - a path
_INTERRUPTION: Final = "latest/meta-data/spot/instance-action"
_REBALANCE: Final = "latest/meta-data/events/recommendations/rebalance"
_ANSWER_S: Final = 2.0
_TOKEN_S: Final = 21_600
_NOT_THERE: Final = 404
_OUTDATED: Final = 401
_MOST_BYTES: Final = 1 << 16


class Metadata:
    """A machine's metadata service, asked with a token that is renewed when it is refused."""

    def __init__(self, endpoint: str) -> None:
        self._root = endpoint.rstrip("/")
        self._token: str | None = None
        # a proxy would answer for another machine
        self._ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def told(self, path: str) -> dict[str, Any] | None:
        """The object at a path; None where there is none. OSError where nobody answers."""
        try:
            return self._told(path)
        except urllib.error.HTTPError as error:
            if error.code != _OUTDATED:
                raise
        self._token = None
        return self._told(path)

    def _told(self, path: str) -> dict[str, Any] | None:
        if self._token is None:
            lasting = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_S)}
            self._token = self._answer(_TOKEN, "PUT", lasting)
        try:
            text = self._answer(path, "GET", {"X-aws-ec2-metadata-token": self._token})
        except urllib.error.HTTPError as error:
            if error.code != _NOT_THERE:
                raise
            return None
        try:
            found = json.loads(text)
        except ValueError:
            return {"said": text[:200]}  # a notice in other words is one all the same
        return found if isinstance(found, dict) else {"said": text[:200]}

    def _answer(self, path: str, method: str, headers: Mapping[str, str]) -> str:
        asked = urllib.request.Request(  # noqa: S310 - the scheme is the user's own
            f"{self._root}/{path}", headers=dict(headers), method=method
        )
        with self._ask(asked, timeout=_ANSWER_S) as answer:
            told: bytes = answer.read(_MOST_BYTES)
        return told.decode(errors="replace")


def look(metadata: Metadata) -> dict[str, Any]:
    """Notice, advice, and why neither can be seen, each None where there is none."""
    try:
        return {
            "interruption": metadata.told(_INTERRUPTION),
            "rebalance": metadata.told(_REBALANCE),
            "unheard": None,
        }
    except (OSError, ValueError) as error:  # ValueError: what was named is no address
        return {"interruption": None, "rebalance": None, "unheard": str(error)}


def main(arguments: Sequence[str]) -> int:
    """Ask until there is a notice, or until told to end; returns the exit code."""
    parser = argparse.ArgumentParser(prog="flows.remote.notices")
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=float, default=EVERY_S)
    asked = parser.parse_args(arguments)
    is_over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: is_over.set())
    metadata = Metadata(os.environ.get(ENDPOINT) or _USUAL)
    written = None
    while True:
        seen = look(metadata)
        if seen != written:
            write(asked.file, seen)
            written = seen
        if seen["interruption"] is not None or is_over.wait(asked.every):
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

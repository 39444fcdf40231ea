"""Whether a cloud has asked for a rented machine back: told on the machine, heard here.

A spot machine is taken back two minutes after its notice. What is being measured then says
nothing of the candidate: it is broken off, and the machine given up.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from flows.errors import RunoffError
from flows.launch.ending import steps
from flows.remote.host import RemoteHost
from flows.remote.job import RemoteJob, begin
from flows.remote.lost import TakenBackError
from flows.remote.notices import ENDPOINT

EVERY_S: Final = 2.0  # one line over the connection that there is
INTERRUPTION: Final = "interruption"
REBALANCE: Final = "rebalance"
_FILE: Final = "notices.json"
_FIRST_S: Final = 15.0
_LOOK_S: Final = 0.05
_END_S: Final = 5.0


class Notices:
    """Hears, every few seconds, what the machine's own metadata say of its end."""

    def __init__(
        self,
        host: RemoteHost,
        told: Callable[[str, Mapping[str, Any]], None],
        *,
        every_s: float = EVERY_S,
    ) -> None:
        """``told`` hears each kind of notice once, with the cloud's words."""
        self._host = host
        self._told = told
        self._every_s = every_s
        self._job: RemoteJob | None = None
        self._notice: Mapping[str, Any] | None = None
        self._heard: set[str] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="notices", daemon=True)

    def begin(self) -> str | None:
        """Have the machine watch its metadata; why it cannot, or None."""
        try:
            equipped = self._host.equipped
            named = {k: v for k, v in equipped.environment.items() if k == ENDPOINT}
            self._job = begin(
                self._host,
                f"notices-{secrets.token_hex(6)}",
                equipped.program("flows.remote.notices", _FILE),
                env={**equipped.own_environment, **named},
                manner=steps("SIGTERM", 5.0, "SIGKILL"),
                note={"kind": "notices"},
            )
            why = self._first()
        except RunoffError as error:
            return error.seen
        self._thread.start()
        return why

    def require_kept(self) -> None:
        """Return unless the machine is being taken back; else TakenBackError."""
        if self._notice is None:
            return
        action = self._notice.get("action") or self._notice.get("said") or "an end"
        at = self._notice.get("time")
        raise TakenBackError(
            self._host.where,
            f"its cloud takes it back (spot interruption notice: {action}"
            f"{f' at {at}' if at else ''})",
            "Go on with --resume: what was measured is kept",
        )

    def look(self) -> None:
        """Hear what there is; a machine that cannot be asked is asked again."""
        with suppress(RunoffError):
            self._seen()

    def end(self) -> None:
        """Listen no more; what watches there goes with the machine, or with its lease."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_END_S)  # it may wait for a machine that does not answer

    def _first(self) -> str | None:
        """Why the metadata cannot be seen, as the first look says; None: they can."""
        until_s = time.monotonic() + _FIRST_S
        while time.monotonic() < until_s:
            seen = self._seen()
            if seen is not None:
                unheard: str | None = seen["unheard"]
                return unheard
            time.sleep(_LOOK_S)
        return "nobody watches them"

    def _seen(self) -> Mapping[str, Any] | None:
        if self._job is None:
            return None
        text = self._host.ask("text", path=f"{self._job.folder}/{_FILE}")
        if text is None:
            return None
        seen: Mapping[str, Any] = json.loads(text)
        self._notice = self._notice or seen[INTERRUPTION]
        for kind in (REBALANCE, INTERRUPTION):
            if seen[kind] is not None and kind not in self._heard:
                self._heard.add(kind)
                self._told(kind, seen[kind])
        return seen

    def _look_on(self) -> None:
        while self._notice is None and not self._is_over.wait(self._every_s):
            with suppress(Exception):  # whatever comes, the notice must still be heard
                self.look()

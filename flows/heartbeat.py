"""The heartbeat of a rented machine: without it the machine ends itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from flows.control.host import Ran
from flows.errors import RunoffError

LIFE_S: Final = 900  # how long the machine outlives us
EVERY_S: Final = 60.0
_END_S: Final = 5.0


class Heartbeat:
    """Says each minute that the machine may live a quarter of an hour from now."""

    def __init__(
        self, words: str, run: Callable[[list[str]], Ran], *, every_s: float = EVERY_S
    ) -> None:
        """``words`` are the machine's own command; SECONDS in it is replaced."""
        self._words = words
        self._run = run
        self._every_s = every_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def begin(self) -> str | None:
        """Beat once, and from now on; why the machine would not end by itself, or None."""
        why = self.beat(LIFE_S)
        if why is None:
            self._thread.start()
        return why

    def is_waited_for(self) -> bool:
        """Whether the machine has the switch: without a beat it ends itself soon after boot."""
        program = next((word for word in self._words.split() if word.startswith("/")), "")
        try:
            return bool(program) and self._run(["test", "-e", program]).code == 0
        except RunoffError:
            return False

    def beat(self, seconds: int) -> str | None:
        """Let the machine live so long from now; why it did not hear, or None."""
        try:
            ran = self._run(self._words.replace("SECONDS", str(seconds)).split())
        except RunoffError as error:
            return error.seen
        return None if ran.code == 0 else ran.output.strip()[-200:] or f"code {ran.code}"

    def end(self) -> None:
        """Beat no more: what is not released ends by itself."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_END_S)  # it may wait for a machine that does not answer

    def _beat_on(self) -> None:
        while not self._is_over.wait(self._every_s):
            with suppress(Exception):  # whatever comes, one beat is followed by the next
                self.beat(LIFE_S)

"""The heartbeat of a rented machine: without it the machine ends itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from flows.control.host import Ran
from flows.errors import RunoffError

LIFE_S: Final = 900  # how long the machine outlives us
EVERY_S: Final = 60.0


class Heartbeat:
    """Says each minute that the machine may live a quarter of an hour from now."""

    def __init__(self, words: str, run: Callable[[list[str]], Ran]) -> None:
        """``words`` are the machine's own command; SECONDS in it is replaced."""
        self._words = words
        self._run = run
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def begin(self) -> str | None:
        """Beat once, and from now on; why the machine would not end by itself, or None."""
        why = self.beat(LIFE_S)
        if why is None:
            self._thread.start()
        return why

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
            self._thread.join()

    def _beat_on(self) -> None:
        while not self._is_over.wait(EVERY_S):
            self.beat(LIFE_S)  # one that is not heard is followed by the next

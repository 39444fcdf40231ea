"""The life of a rehearsal process: loading, serving, and stopping on a signal."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path

import uvloop

from flows.rehearsal.server import Server
from flows.rehearsal.settings import LifecycleSettings, Settings
from flows.rehearsal.truth import write_truth

FORCED_EXIT_CODE = 1
BUSY_CHECK_S = 0.02
GC_ALLOCATIONS = 50_000  # a pause of the collector would be a pause of the engine


def serve(settings: Settings, lease: int | None = None) -> int:
    """Serve until a signal; returns the exit code. Writes the truth file at the end.

    `lease` is the reading end of a pipe: when its other end closes, the server ends too.
    """
    return uvloop.run(_serve(settings, lease))


async def _serve(settings: Settings, lease: int | None) -> int:
    loop = asyncio.get_running_loop()
    server = Server(settings, loop)
    stop = Stop(server, settings.lifecycle)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.asked)
    if lease is not None:
        loop.add_reader(lease, stop.now)
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS)
    _begin(server, settings.lifecycle, loop)
    code = await stop.exit_code
    if lease is not None:
        loop.remove_reader(lease)
    server.close()
    if settings.truth is not None:
        write_truth(Path(settings.truth), server.truth, server.engine.overruns)
    return code


def _begin(
    server: Server, lifecycle: LifecycleSettings, loop: asyncio.AbstractEventLoop
) -> None:
    """Announce the address and start to load."""
    for line in lifecycle.log_lines:
        _say(line, sys.stderr.fileno())
    refuses = lifecycle.while_loading == "refuse"
    is_loading = lifecycle.never_ready or lifecycle.load_s > 0
    if refuses and is_loading:
        _say(f"loading, will listen on {server.url}", sys.stdout.fileno())
    else:
        _listen(server)
    if lifecycle.die_after_s is not None:
        loop.call_later(lifecycle.die_after_s, os._exit, lifecycle.exit_code)
    if lifecycle.never_ready:
        return
    if is_loading:
        loop.call_later(lifecycle.load_s, _ready, server, refuses)
    else:
        _ready(server, False)


def _ready(server: Server, listens_now: bool) -> None:
    server.become_ready()
    if listens_now:
        _listen(server)


def _listen(server: Server) -> None:
    server.listen()
    _say(f"listening on {server.url}", sys.stdout.fileno())


def _say(line: str, descriptor: int) -> None:
    os.write(descriptor, (line + "\n").encode())


class Stop:
    """Ends the process on a signal: at once, or when the last client has left."""

    def __init__(self, server: Server, lifecycle: LifecycleSettings) -> None:
        self.exit_code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._server = server
        self._waits = lifecycle.term_waits_for_clients
        self._asked = False

    def asked(self) -> None:
        """Take a signal: the second one ends a waiting server by force."""
        if self._asked:
            self._end(FORCED_EXIT_CODE)
            return
        self._asked = True
        if self._waits and self._server.is_busy:
            self._server.stop_listening()
            self._check()
        else:
            self._end(0)

    def now(self) -> None:
        """End, whoever is still being served."""
        self._end(0)

    def _check(self) -> None:
        if self._server.is_busy:
            asyncio.get_running_loop().call_later(BUSY_CHECK_S, self._check)
        else:
            self._end(0)

    def _end(self, code: int) -> None:
        if not self.exit_code.done():
            self.exit_code.set_result(code)

"""A calibration made: on this machine, or as a job of a host over SSH."""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from catalog.calibration.file import CalibrationFile
from catalog.entries import Catalog
from flows.calibrate.build import built
from flows.calibrate.library import lent_numpy
from flows.calibrate.order import Manner, order_of
from flows.errors import EvidenceError, InfrastructureError
from flows.machine.found import FoundMachine
from flows.machine.look import found_machine
from flows.system.facts import SystemFacts

MODULE: Final = "flows.calibrate.target"
MOST_S: Final = 3600.0
_ORDER, _RESULT, _PRINTED = "benchmarks.json", "rates.json", "printed.log"

Said = Callable[[str], None]


def _unheard(line: str) -> None:
    """Nobody reads how far it is."""
    del line


class Target(Protocol):
    """A host that benchmarks run on."""

    @property
    def name(self) -> str:
        """The host, as calibrations call it."""

    def facts(self) -> SystemFacts:
        """The host as its own kernel tells it."""

    def found(self) -> FoundMachine:
        """Its accelerators, as their driver tells them."""

    def run(self, order: Mapping[str, Any], said: Said = _unheard) -> Mapping[str, Any]:
        """Everything ordered, done there; InfrastructureError where that fails.

        ``said`` gets a line as each attempt begins.
        """


class HereTarget:
    """This machine; ``cache`` is where runoff's engines are installed."""

    name = "local"

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def facts(self) -> SystemFacts:
        """Its facts now."""
        from flows.system.here import facts_here  # noqa: PLC0415 - not before it is needed

        return facts_here(self.name, dt.datetime.now(dt.UTC))

    def found(self) -> FoundMachine:
        """Its accelerators."""
        from flows.control.host import Here  # noqa: PLC0415

        return found_machine(Here())

    def run(self, order: Mapping[str, Any], said: Said = _unheard) -> Mapping[str, Any]:
        """In a process of its own, whose session ends with it."""
        with tempfile.TemporaryDirectory(prefix="runoff-calibration-") as folder:
            asked, told = Path(folder, _ORDER), Path(folder, _RESULT)
            whole = {**order, "roots": [str(self._cache)], "ours": [os.getpid()]}
            asked.write_text(json.dumps(whole), encoding="utf-8")
            words = [sys.executable, "-P", "-s", "-m", MODULE, str(asked), str(told)]
            code, complaint = _followed(words, Path(folder, _PRINTED), said)
            if code is None:
                raise _failed(self.name, f"not over after {MOST_S:g} s")
            if code != 0:
                raise _failed(self.name, complaint)
            result: Mapping[str, Any] = json.loads(told.read_text("utf-8"))
            return result


class FarTarget:
    """A host over SSH, connected; the benchmarks run as a job there."""

    def __init__(self, name: str, host: Any) -> None:
        self.name = name
        self._host = host

    def facts(self) -> SystemFacts:
        """As our agent there sees them."""
        from flows.remote.facts import remote_facts  # noqa: PLC0415 - with paramiko

        return remote_facts(self._host, self.name)

    def found(self) -> FoundMachine:
        """Its accelerators."""
        from flows.remote.control import controlled  # noqa: PLC0415

        return found_machine(controlled(self._host))

    def run(self, order: Mapping[str, Any], said: Said = _unheard) -> Mapping[str, Any]:
        """As a job in a session of its own; the result comes home as a file."""
        from flows.remote.job import begin, job_folder  # noqa: PLC0415

        host, name = self._host, f"calibrate-{secrets.token_hex(6)}"
        folder = job_folder(host, name)
        more = {"roots": [host.equipped.root], "numpy_at": lent_numpy(host)}
        asked = json.dumps({**order, **more})
        host.ask("lay", folder=folder, files={_ORDER: asked}, links={})
        words = host.equipped.program(MODULE, f"{folder}/{_ORDER}", f"{folder}/{_RESULT}")
        with tempfile.TemporaryDirectory(prefix="runoff-calibration-") as aside:
            mirror = Path(aside, _PRINTED)
            job = begin(host, name, words, mirror=mirror, note={"kind": "calibrate"})
            printed = _Printed(mirror, said)
            try:
                ended = job.wait(MOST_S, looked=printed.look)
                job.look_to_the_end()
                printed.look()
                told = host.ask("text", path=f"{folder}/{_RESULT}")
                if ended.get("exit_code") != 0 or told is None:
                    log = (host.ask("text", path=job.log) or "").strip().splitlines()
                    raise _failed(self.name, log[-1] if log else "it said nothing")
                result: Mapping[str, Any] = json.loads(told)
                return result
            finally:
                if not job.is_over:
                    job.end()
                job.forget()


class _Printed:
    """Passes on each whole line that a growing file has, once."""

    def __init__(self, path: Path, said: Said) -> None:
        self._path, self._said = path, said
        self._passed = 0

    def look(self) -> None:
        """Pass on what it has gained."""
        if not self._path.is_file():  # nothing is printed yet
            return
        *whole, _ = self._path.read_text("utf-8", "replace").split("\n")
        for line in whole[self._passed :]:
            self._said(line)
        self._passed = len(whole)


def _followed(words: list[str], errors: Path, said: Said) -> tuple[int | None, str]:
    """The exit code of a program whose lines are passed on, None if it took too long.

    And the last line of its complaints.
    """
    began_s = time.monotonic()
    with (
        errors.open("wb") as log,
        subprocess.Popen(  # noqa: S603 - our own interpreter and module
            words, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        limit = threading.Timer(MOST_S, process.kill)
        limit.start()
        try:
            for line in process.stdout or ():
                said(line.rstrip("\n"))
            code = process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
    complaints = errors.read_text("utf-8", "replace").strip().splitlines()
    is_late = code != 0 and time.monotonic() - began_s >= MOST_S
    return None if is_late else code, (complaints or ["it said nothing"])[-1]


def calibrated(
    target: Target,
    manner: Manner,
    catalog: Catalog,
    now: dt.datetime,
    said: Said = _unheard,
) -> CalibrationFile:
    """The target's calibration; ``said`` gets a line as each attempt begins.

    Raises
    ------
    EvidenceError
        If others disturbed it in every attempt.
    InfrastructureError
        If the benchmarks could not be run, or measured nothing.
    """
    system, found = target.facts(), target.found()
    raw = target.run(order_of(system, found, manner), said)
    file = built(
        raw,
        host=target.name,
        system=system,
        found=found,
        manner=manner,
        catalog=catalog,
        now=now,
    )
    if isinstance(file, tuple):
        raise EvidenceError(
            f"calibration of {target.name!r}",
            "it was disturbed in every attempt and is void: " + "; ".join(file),
            "Stop what else runs there, or keep it as --exploratory",
        )
    if not any(device.figures for device in file.devices):
        why = "; ".join(f"{each.what}: {each.why}" for each in file.unavailable)
        raise InfrastructureError(
            f"calibration of {target.name!r}",
            f"nothing could be measured ({why})",
            "Install a C compiler there, or name a Python with NumPy by --python",
        )
    return file


def _failed(host: str, seen: str) -> InfrastructureError:
    return InfrastructureError(f"calibration of {host!r}", seen, "Look at the host")

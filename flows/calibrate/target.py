"""Runs on the host: ``python -P -s -m flows.calibrate.target ORDER RESULT``.

Does the ordered steps one after another, each alone, and watches who else uses the host
meanwhile; a group of steps that was disturbed is done again, twice at most. It writes raw
blocks and texts; what they mean is worked out by whoever ordered them. Standard library only:
memory and arithmetic are done by a C program where there is a compiler, else by NumPy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from flows.foreign_load import Sampler, objections, sampled

HERE: Final = Path(__file__).parent
COMPILERS: Final = ("gcc", "cc", "clang")
_FLAGS: Final = (("-O3", "-march=native"), ("-O3",))  # not every compiler knows its own machine
_COMPILE_S: Final = 60.0
_STEP_S: Final = 300.0
_PROBE_S: Final = 60.0
_ATTEMPTS: Final = 3
_EVERY_S: Final = 0.5
_LAST: Final = 300
_LOOKS: Final = "import importlib.util as u, sys; sys.exit(not u.find_spec(sys.argv[1]))"
_CLOCKS: Final = "cpu[0-9]*/cpufreq/scaling_cur_freq"
_NO_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_SMI: Final = (
    *("nvidia-smi", "--format=csv,noheader,nounits"),
    "--query-gpu=index,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active",
)


_ASIDES: Final = re.compile(r"\s*\([^)]*\)")  # "gcc (Debian 12.2.0-14) 12.2.0"


class StepFailedError(Exception):
    """A step that could not be done, with the reason."""


@dataclass(slots=True)
class Session:
    """One calibration under way on this host."""

    order: Mapping[str, Any]
    folder: Path
    kernels: tuple[str, ...] = ()
    compiler: str = ""
    result: dict[str, Any] = field(
        default_factory=lambda: {
            "figures": [],
            "all_reduces": [],
            "texts": {},
            "unavailable": [],
            "loads": {},
            "attempts": {},
            "conditions": {},
        }
    )

    def run(self) -> dict[str, Any]:
        """Everything that was ordered, as far as it can be done here."""
        self._compile()
        conditions = self.result["conditions"]
        conditions["before"] = self._condition()
        for group in self.order["groups"]:
            self._group(group)
        conditions["after"] = self._condition()
        return self.result

    def _group(self, group: Mapping[str, Any]) -> None:
        """A group's steps, again while others disturb them; the last attempt stays.

        Whoever waits reads of each attempt, and why it is another one, as it begins.
        """
        name, why = group["name"], ""
        attempts = 1 if self.order["exploratory"] else _ATTEMPTS
        for attempt in range(1, attempts + 1):
            sys.stdout.write(f"{name}: attempt {attempt} of at most {attempts}{why}\n")
            sys.stdout.flush()
            done: list[tuple[str, Any]] = []
            sampler = Sampler(self.order.get("ours", ()))  # whoever ordered it waits
            with sampled(sampler, _EVERY_S):
                for step in group["steps"]:
                    done += self._step(step)
            self.result["attempts"][name] = attempt
            missed = [kind for kind, _ in done].count("unavailable")
            if missed == len(done) >= len(group["steps"]):
                break  # nothing was measured that could have been disturbed
            load = sampler.load()
            self.result["loads"][name] = load.to_json()
            disturbed = objections(load)
            if not disturbed:
                break
            why = f"; the one before was disturbed: {'; '.join(disturbed)}"
        for kind, value in done:
            self.result[kind].append(value)

    def _step(self, step: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        try:
            yield from _DONE_BY[step["by"]](self, step)
        except StepFailedError as error:
            yield "unavailable", {"what": step["what"], "why": str(error)}

    # by the C program

    def _compile(self) -> None:
        if self.order.get("without_compiler"):
            self.compiler = ""
            return
        source, program = HERE / "kernels.c", self.folder / "kernels"
        for name in COMPILERS:
            path = shutil.which(name)
            for flags in _FLAGS if path is not None else ():
                words = [str(path), *flags, "-pthread", str(source), "-o", str(program)]
                if _ran(words, _COMPILE_S).returncode == 0:
                    version = _ran([str(path), "--version"], _PROBE_S).stdout.splitlines()
                    told = _ASIDES.sub("", version[0]) if version else name
                    self.kernels, self.compiler = (str(program),), f"{told}, {' '.join(flags)}"
                    return

    def kernel(self, step: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """A step of memory or arithmetic by the C program, else by NumPy."""
        if not self.kernels:
            yield from self.numpy(step)
            return
        mode = step["mode"]
        words = [*self.kernels, mode, str(step["bytes"]), str(self.order["blocks"])]
        words += [str(self.order["block_s"]), *map(str, step["cpus"])]
        done = _ran(words, _STEP_S)
        if done.returncode != 0:
            reasons = {1: "too little memory", 2: "a wrong result"}
            why = reasons.get(done.returncode, done.stderr[-_LAST:])
            raise StepFailedError(f"the C program ended with {done.returncode}: {why}")
        blocks = [
            [float(seconds), float(units)]
            for seconds, units in (line.split() for line in done.stdout.splitlines())
        ]
        tool = f"C program ({self.compiler})"
        yield "figures", {**step, "blocks": blocks, "tool": tool, "way": "kernel"}

    # by libraries, each in a Python that has them

    def numpy(self, step: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """A step by NumPy, in a Python that has it."""
        python = self._with("numpy")
        if python is None:
            if step["mode"] == "sgemm" and self.kernels:
                yield from self.kernel(step)
                return
            need = "NumPy" if self.kernels else "neither a C compiler nor NumPy"
            raise StepFailedError(f"the host has {need if not self.kernels else 'no NumPy'}")
        yield from self._probe(python, "numpy_probe.py", step)

    def torch(self, step: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """A step by PyTorch, in a Python that has it."""
        python = self._with("torch")
        if python is None:
            raise StepFailedError("no Python with PyTorch was found on the host")
        yield from self._probe(python, "torch_probe.py", step)

    def _probe(
        self, python: str, script: str, step: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any]]:
        asked = {**step, "blocks": self.order["blocks"], "block_s": self.order["block_s"]}
        if "n" in step:
            asked["n"] = step["n"]
        environment = self._environment(python)
        cpus = step.get("cpus")
        if cpus and step.get("mode") != "all_reduce":
            environment |= dict.fromkeys(_NO_THREADS, str(len(cpus)))
        words = [python, "-P", "-s", str(HERE / script), json.dumps(asked)]
        done = _ran(words, _STEP_S, environment)
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise StepFailedError(f"{script} failed: {said[:_LAST]}")
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                told = json.loads(line)
                kind = told.pop("kind")
                yield kind, {**step, **told} if kind == "figures" else told

    def _with(self, module: str) -> str | None:
        """A Python that has the module: one that was named, this one, an engine's."""
        named = [str(path) for path in self.order.get("pythons", ())]
        for python in (*named, sys.executable, *_engines(self.order.get("roots", ()))):
            words = [python, "-P", "-s", "-c", _LOOKS, module]
            if _ran(words, _PROBE_S, self._environment(python)).returncode == 0:
                return python
        return None

    def _environment(self, python: str) -> dict[str, str]:
        """A probe's environment: the host's own, and to its Python what was lent to it."""
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        lent = self.order.get("numpy_at")
        return (
            environment | {"PYTHONPATH": lent}
            if lent and python == sys.executable
            else environment
        )

    # by programs of others, whose text is taken home

    def text(self, step: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """What a benchmark that the host has prints."""
        program = shutil.which(step["argv"][0])
        if program is None:
            raise StepFailedError(f"{step['argv'][0]} is not on the host's PATH")
        done = _ran([program, *step["argv"][1:]], _STEP_S)
        if done.returncode != 0:
            said = ((done.stderr or done.stdout).strip().splitlines() or ["nothing"])[-1]
            raise StepFailedError(f"{program} ended with {done.returncode}: {said[:_LAST]}")
        self.result["texts"][step["argv"][0]] = done.stdout
        yield from ()

    def _condition(self) -> dict[str, Any]:
        """Clocks and temperatures as they are now; what is not told is left out."""
        told: dict[str, Any] = {"load_1min": os.getloadavg()[0]}
        clocks = [
            int(text) / 1000
            for path in Path("/sys/devices/system/cpu").glob(_CLOCKS)
            if (text := _text(path)).isdigit()
        ]
        if clocks:
            told["cpu_mhz"] = {"lowest": min(clocks), "highest": max(clocks)}
        heat = [
            int(text) / 1000
            for path in Path("/sys/class/thermal").glob("thermal_zone*/temp")
            if (text := _text(path)).lstrip("-").isdigit()
        ]
        if heat:
            told["hottest_celsius"] = max(heat)
        clock = self.order.get("clock_cpu")
        if self.kernels and clock is not None:
            words = [*self.kernels, "clock", "0", "3", "0.01", str(clock)]
            lines = [line.split() for line in _ran(words, _PROBE_S).stdout.splitlines()]
            rates = [float(cycles) / float(seconds) for seconds, cycles in lines]
            if rates and max(rates) > 0:
                told["core_mhz"] = round(max(rates) / 1e6, 1)
        if shutil.which(_SMI[0]):
            told["gpus"] = _ran(list(_SMI), _PROBE_S).stdout.strip().splitlines()
        return told


_DONE_BY: Final = {
    "kernel": Session.kernel,
    "numpy": Session.numpy,
    "torch": Session.torch,
    "text": Session.text,
}


def _engines(roots: Sequence[str]) -> Iterator[str]:
    """Pythons of engines that runoff has installed here."""
    for root in roots:
        for path in sorted(Path(root).glob("installs/*/venv/bin/python")):
            yield str(path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _ran(
    words: Sequence[str], limit_s: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """How a program ended; one that cannot be run or takes too long ends with 127."""
    try:
        return subprocess.run(  # noqa: S603 - compilers, probes and tools of the host
            words,
            env=None if environment is None else dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(list(words), 127, "", str(error))


def main(arguments: Sequence[str]) -> int:
    """Do what the file orders and write the result, whole or not at all."""
    order, place = json.loads(Path(arguments[0]).read_text("utf-8")), Path(arguments[1])
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="runoff-calibrate-") as folder:
        result = Session(order, Path(folder)).run()
    result["seconds"] = time.monotonic() - began_s
    aside = place.with_name(f".{place.name}")
    aside.write_text(json.dumps(result, allow_nan=False), encoding="utf-8")
    aside.replace(place)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

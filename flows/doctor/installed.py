"""What is installed and configured here: Python, Prefect, engines, compilers, credentials."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from flows.bench.http import LOOPBACK_ONLY
from flows.doctor.reading import Reading, judged
from flows.doctor.tools import Engine, Tools
from flows.foreign_load import HostLoad, objections
from flows.preflight.probes import Probes

_COMPILERS: Final = ("gcc", "g++", "make")
_CONTAINERS: Final = ("docker", "podman")
_ACCELERATORS: Final = ("nvidia-smi", "amd-smi", "rocm-smi")
_AWS_NAMES: Final = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN")


def installed_readings(
    probes: Probes, tools: Tools, engines: Sequence[Engine]
) -> Iterator[Reading]:
    """Programs and packages; a runtime that is not here is installed by its campaign."""
    yield Reading(topic="python", state="ok", seen=platform.python_version())
    yield _environments(probes)
    yield _prefect(tools)
    for engine in engines:
        yield _engine(engine, probes, tools)
    yield _programs("containers", _CONTAINERS, probes, "Needed for candidates with an image")
    yield _programs(
        "compilers", _COMPILERS, probes, "Needed to build engines and to measure bandwidth well"
    )
    yield _programs("accelerators", _ACCELERATORS, probes, "Candidates here run on the CPUs")


def use_readings(probes: Probes, load: HostLoad | None) -> Iterator[Reading]:
    """Who uses this machine, and what we may use: credentials are told of, never shown."""
    holder = probes.holder()
    if holder is not None:
        yield Reading(
            topic="host lock",
            state="warns",
            seen=f"held by {holder}",
            do=f"Wait for its end, or stop it: kill {holder.pid}",
        )
    else:
        yield Reading(topic="host lock", state="ok", seen="free")
    if load is not None:
        yield _quiet(load)
    yield _credential(
        "token of the model hub", ("HF_TOKEN",), probes, "Export HF_TOKEN for gated models"
    )
    yield _aws(probes)
    if probes.environment.get(LOOPBACK_ONLY) == "1":
        yield Reading(
            topic="loopback guard",
            state="warns",
            seen=f"{LOOPBACK_ONLY}=1 keeps every request on this machine",
            do="Unset it to reach other hosts",
        )


def _environments(probes: Probes) -> Reading:
    return judged(
        "virtual environments",
        "can be made" if (able := probes.has_module("ensurepip")) else "no ensurepip",
        warns_if=not able,
        do="Install the package python3-venv: engines are put into environments of their own",
    )


def _prefect(tools: Tools) -> Reading:
    version, reason = tools.prefect()
    if version is None:
        return Reading(
            topic="prefect",
            state="blocks",
            seen=f"it cannot be imported: {reason}",
            do="Install runoff again, with its requirements",
        )
    return Reading(topic="prefect", state="ok", seen=version)


def _engine(engine: Engine, probes: Probes, tools: Tools) -> Reading:
    found = [path for name in engine.programs if (path := probes.program(name)) is not None]
    for name in engine.packages:
        version = tools.package(name)
        if version is not None:
            found.append(f"{name} {version}")
    topic = f"engine {engine.runtime}"
    if not found:
        is_image = not engine.programs and not engine.packages
        seen = "comes as an image" if is_image else "not here: a campaign installs it"
        return Reading(topic=topic, state="none", seen=seen)
    return Reading(topic=topic, state="ok", seen=", ".join(found))


def _programs(topic: str, names: Sequence[str], probes: Probes, do: str) -> Reading:
    found = [name for name in names if probes.program(name) is not None]
    if not found:
        return Reading(topic=topic, state="none", seen="not here", do=do)
    return Reading(topic=topic, state="ok", seen=", ".join(found))


def _quiet(load: HostLoad) -> Reading:
    found = objections(load)
    foreign = load.strangers_cores + load.hidden_cores
    quiet = f"others use {foreign:.2f} of {load.cpus} cores, load {load.load_1min:g}"
    return judged(
        "foreign load",
        "; ".join(found) or quiet,
        warns_if=bool(found),
        do="Stop them, or wait until they are done: compare refuses a busy machine, unless its "
        "campaign is exploratory: then each cell tells of them",
    )


def _credential(topic: str, names: Sequence[str], probes: Probes, do: str) -> Reading:
    present = [name for name in names if probes.environment.get(name)]
    if not present:
        return Reading(topic=topic, state="none", seen="not set", do=do)
    return Reading(topic=topic, state="ok", seen=f"{', '.join(present)} set")


def _aws(probes: Probes) -> Reading:
    topic, do = "AWS credentials", "Configure them as for the AWS command line to rent there"
    home = probes.environment.get("HOME", "")
    stated = probes.environment.get("AWS_SHARED_CREDENTIALS_FILE")
    file = stated or str(Path(home, ".aws", "credentials"))
    reading = _credential(topic, _AWS_NAMES, probes, do)
    if reading.state == "none" and probes.exists(file):
        return Reading(topic=topic, state="ok", seen=f"{file} is there")
    return reading

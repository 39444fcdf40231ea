"""Runoff on another host: ``python -P -m flows.remote.agent WORD`` answers questions in lines.

It prints WORD once it listens. A question is a JSON object of ``op`` and ``args``; the answer
has ``value`` or ``error``. Each question may be asked again: nothing happens twice. All that
must outlive this process lies in files. Runs on the host: standard library only.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import os
import platform
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from flows.control.host import LIMIT_S, Here, administrator
from flows.errors import InfrastructureError, LaunchError, RunoffError
from flows.foreign_load import look
from flows.host_lock import free, holdings, lock_folder
from flows.launch.ports import published, require_free, require_ours
from flows.launch.processes import NO_LEADER, Family
from flows.remote.hold import HOST
from flows.remote.job_folder import (
    ENDED,
    ORDER,
    SERVER,
    STATE,
    STOP,
    renew,
    state_of,
    write,
)
from flows.system.read import system_facts
from flows.system.texts import Texts

_START_S: Final = 20.0
_LOOK_S: Final = 0.01
_MOST_BYTES: Final = 1 << 20
_LAST_WORDS: Final = 2_000


def hello() -> dict[str, Any]:
    """Who answers, what it was given, and whether its load generator can run."""
    import httptools  # noqa: F401, PLC0415 - here to fail with a reason

    return {
        "python": sys.executable,
        "version": platform.python_version(),
        "machine": platform.machine(),
        "environment": dict(os.environ),
    }


def clock() -> int:
    """Monotonic nanoseconds of the host."""
    return time.monotonic_ns()


def free_port() -> int:
    """A port of the host's loopback interface that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def facts(host_id: str) -> dict[str, Any]:
    """The host as its own kernel tells it, from this process's point of view."""
    return system_facts(
        Texts(),
        host_id,
        now=dt.datetime.now(dt.UTC),
        architecture=platform.machine(),
        allowed=sorted(os.sched_getaffinity(0)),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE),
        software={"python": platform.python_version()},
    ).to_json()


def foreign_load(seconds: float, roots: Sequence[int]) -> dict[str, Any]:
    """Who else uses the host, over some time."""
    return look(roots, seconds=seconds).to_json()


def room(folder: str) -> int:
    """Free bytes of the disk that takes a folder."""
    return shutil.disk_usage(folder).free


def lay(folder: str, files: Mapping[str, str], links: Mapping[str, str]) -> None:
    """Files and links in a folder, which is made where it is not there."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            aside.write_text(text, encoding="utf-8")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    for name, target in links.items():
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(target)


def fresh(folder: str) -> None:
    """An empty folder: what an interrupted run left there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)


def remove(folder: str) -> None:
    """Remove a folder with all that is in it; nothing where there is none."""
    shutil.rmtree(folder, ignore_errors=True)


def sha256(path: str) -> str | None:
    """The SHA-256 of a file; None where there is none."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def ran(argv: Sequence[str], within_s: float = LIMIT_S) -> list[Any]:
    """How a short program ended: its exit code, and all that it said."""
    done = Here().run(argv, within_s=within_s)
    return [done.code, done.output]


def small_text(path: str) -> str | None:
    """A small file's text without blanks at its ends; None where it cannot be read."""
    return Here().read(path)


def paths(pattern: str) -> list[str]:
    """Full paths that fit a pattern, in order."""
    return list(Here().paths(pattern))


def keep_text(path: str, text: str, mode: int) -> None:
    """Write a file whole, and through to the disk."""
    Here().write(path, text, mode)


def remove_file(path: str) -> None:
    """Remove a file, if it is there."""
    Here().remove(path)


def administrators_words() -> list[str]:
    """Words that make a command an administrator's there; none for root or where none help."""
    return list(administrator())


def text(path: str) -> str | None:
    """A text file's content; None where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def order(folder: str, asked: Mapping[str, Any]) -> None:
    """Write down a job that is to be started, unless it was started before."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (place / STATE).exists() and not (place / ENDED).exists():
        write(place / ORDER, dict(asked))


def start(folder: str) -> dict[str, Any]:
    """Start an ordered job, unless it was started before; how it goes once it is under way."""
    place = Path(folder)
    if state_of(place)["stage"] == "ordered":
        _start_keeper(place)
    until_s = time.monotonic() + _START_S
    while (found := state_of(place))["stage"] == "starting" and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
    return found


def state(
    folder: str, log: str | None = None, offset: int = 0, *, is_wanted: bool = True
) -> dict[str, Any]:
    """How a job goes, with a piece of its log; the lease of one that is wanted is renewed."""
    place = Path(folder)
    found = state_of(place)
    if is_wanted and found["stage"] in ("starting", "running"):
        renew(place)
    return found if log is None else {**found, "log": _piece(Path(log), offset)}


def stage(folder: str) -> str:
    """How a job goes, in a word; its lease is not renewed."""
    found: str = state_of(Path(folder))["stage"]
    return found


def leases(folders: Sequence[str]) -> None:
    """Renew the leases of jobs that are still wanted."""
    for folder in folders:
        if (Path(folder) / STATE).exists():
            renew(Path(folder))


def stop(folder: str, manner: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Have a job stopped; does not wait. Without a manner: in its own."""
    place = Path(folder)
    found = state_of(place)
    if found["stage"] in ("starting", "running"):
        try:
            write(place / STOP, {"manner": list(manner)})
        except OSError:  # a full disk keeps nobody from stopping: its keeper hears a signal too
            with suppress(ProcessLookupError):
                os.kill(found["keeper"][0], signal.SIGTERM)
    return state_of(place)


def interrupt(folder: str) -> dict[str, Any]:
    """Send a job's first process SIGINT, as Ctrl-C would."""
    found = state_of(Path(folder))
    if found["stage"] == "running":
        os.kill(found["pid"], signal.SIGINT)  # its keeper has not reaped it: the id is its own
    return found


def forget(folder: str) -> None:
    """Remove what an ended job has left."""
    if state_of(Path(folder))["stage"] not in ("starting", "running"):
        shutil.rmtree(folder, ignore_errors=True)


def jobs(folder: str) -> dict[str, dict[str, Any]]:
    """All jobs of a folder, by name."""
    return {path.name: state_of(path) for path in sorted(Path(folder).glob("*"))}


def sweep(root: str) -> list[str]:
    """Remove what launches and jobs that are over have left; which launches that were.

    Whatever runs stays, with the files of those that have lost their keeper and still run.
    Holdings of the lock are their campaign's to end.
    """
    launches, ours = Path(root) / "launches", Path(root) / "jobs"
    over = [
        path for path in sorted(launches.glob("*")) if _is_over(ours / f"{SERVER}{path.name}")
    ]
    for path in over:
        shutil.rmtree(path, ignore_errors=True)
    for path in sorted(ours.glob("*")):
        note = state_of(path).get("note", {})
        if note.get("kind") != "hold" and not path.name.startswith("hold-") and _is_over(path):
            shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in over]


def processes(folder: str) -> list[int]:
    """Process ids of a job and all that it has started."""
    return [each.pid for each in _family(folder).members()]


def port_is_free(host: str, port: int, where: str) -> None:
    """Refuse a port that somebody holds."""
    require_free(host, port, where)


def owner(
    folder: str, host: str, port: int, where: str, *, is_container: bool
) -> dict[str, Any] | None:
    """The proof that a job holds a port; None while nobody does."""
    if is_container:
        found = published(host, port)
    else:
        found = require_ours(host, port, _family(folder), where)
    return None if found is None else found.to_json()


def lock_holders() -> list[dict[str, Any]]:
    """Who holds the host's lock, living or dead."""
    folder = lock_folder(os.environ)
    return [
        {**each.to_json(), "is_alive": each.is_alive, "told": str(each)}
        for each in holdings(folder)
        if each.host == HOST
    ]


def unlock(token: str) -> None:
    """End a holding of the lock whose process is dead."""
    free(lock_folder(os.environ), HOST, token)


def _is_over(place: Path) -> bool:
    found = state_of(place)
    if found["stage"] == "lost":
        return not _family(str(place)).members()
    return found["stage"] not in ("starting", "running")


def _family(folder: str) -> Family:
    found = state_of(Path(folder))
    if "mark" not in found:
        raise InfrastructureError(folder, "there is no such job", "")
    return Family(leader=found.get("pid", NO_LEADER), mark=found["mark"])


def _start_keeper(place: Path) -> None:
    log = place / "keeper.log"
    with log.open("ab") as said:
        keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-s", "-m", "flows.remote.keeper", str(place)],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    until_s = time.monotonic() + _START_S
    while state_of(place)["stage"] == "ordered" and time.monotonic() < until_s:
        # one that ends well has left the job to another's keeper, which has yet to say so
        if keeper.poll() and state_of(place)["stage"] == "ordered":
            words = log.read_text(errors="replace").strip()[-_LAST_WORDS:]
            raise InfrastructureError(
                str(place),
                f"its keeper ended at once: {words.splitlines()[-1] if words else 'silently'}",
                "Look at the host's free space",
            )
        time.sleep(_LOOK_S)


def _piece(log: Path, offset: int) -> str:
    """Some of a log from an offset on, in base64."""
    try:
        with log.open("rb") as file:
            file.seek(offset)
            return base64.b64encode(file.read(_MOST_BYTES)).decode()
    except FileNotFoundError:
        return ""


_OPS: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (
        *(hello, clock, free_port, facts, foreign_load, room, lay, fresh, text, order, start),
        *(stage, state, leases, stop, interrupt, forget, jobs, processes, port_is_free, owner),
        *(lock_holders, unlock, remove, sha256, ran, small_text, paths, keep_text),
        *(remove_file, administrators_words, sweep),
    )
}


def answered(line: bytes) -> dict[str, Any]:
    """The answer to one question."""
    try:
        asked = json.loads(line)
        return {"value": _OPS[asked["op"]](**asked["args"])}
    except RunoffError as error:
        told = {"type": type(error).__name__, "where": error.where, "seen": error.seen}
        kind = error.kind if isinstance(error, LaunchError) else None
        return {"error": {**told, "do": error.do, "kind": kind}}
    except OSError as error:
        where, seen = str(error.filename or "the host"), error.strerror or str(error)
    except Exception as error:  # noqa: BLE001 - whoever asks must hear of it
        where, seen = "the agent on the host", f"{type(error).__name__}: {error}"
    return {
        "error": {
            "type": "InfrastructureError",
            "where": where,
            "seen": seen,
            "do": "",
            "kind": None,
        }
    }


def main(arguments: Sequence[str]) -> int:
    """Answer until nobody asks any more; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout.write(f"{arguments[0]}\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        try:
            sys.stdout.write(json.dumps(answered(line)) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Tasks scored by lm-evaluation-harness against a server, in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from flows.bench.endpoint import root_of
from flows.errors import InfrastructureError, UsageError
from flows.quality.answering import Server
from flows.quality.beside import PREFIX
from flows.quality.questions import Questions, kind_of, write_task

_PACKAGE: Final = "lm_eval"
_LOOK_S: Final = 0.2
_OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
_MAX_LENGTH: Final = 1 << 20  # the server refuses what is too long; nothing is cut off here
_LAST_WORDS: Final = 300
NAMES_OF_TASKS: Final = "Correct the name (lm_eval ls tasks), or give file:QUESTIONS.jsonl"
_KILL_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """What is asked: names of the harness, and files of one's own by ``file:…``.

    ``samples``: questions of each (None: all). ``offline``: nothing is fetched from the hub.
    """

    names: tuple[str, ...]
    files: Mapping[str, Questions] = field(default_factory=dict)
    samples: int | None = None
    has_prompt_logprobs: bool = False
    offline: bool = False

    def key(self, name: str) -> dict[str, Any]:
        """What makes the scores of a task comparable."""
        return {
            "task": self.files[name].sha256 if name in self.files else name,
            "samples": self.samples,
            "has_prompt_logprobs": self.has_prompt_logprobs,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One question of a task: what was scored and answered."""

    question: str
    metric: str
    target: str
    score: float
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A task's scores, or why it was refused; ``reported`` is the harness's own account."""

    task: str
    kind: str = ""
    rows: tuple[Score, ...] = ()
    reported: Mapping[str, Any] = field(default_factory=dict)
    refused: str | None = None


def is_installed() -> bool:
    """Whether the harness is here."""
    return importlib.util.find_spec(_PACKAGE) is not None


def harness_version() -> str | None:
    """The harness's own version, which its prompts belong to; None where it is not here."""
    return version(_PACKAGE) if is_installed() else None


def require_harness() -> None:
    """Return if the harness is installed; else UsageError says how."""
    if not is_installed():
        raise UsageError(
            "quality.tasks",
            "lm-evaluation-harness is not installed here",
            "Install runoff[quality], or ask for agreement alone",
        )


def scores(
    server: Server,
    tasks: Tasks,
    *,
    streams: int,
    environment: Mapping[str, str],
    look: Callable[[], None],
) -> tuple[Scored, ...]:
    """Each task's scores on a server, in order.

    Raises
    ------
    InfrastructureError
        If the harness ends without a result, with its last words.
    """
    require_harness()
    with tempfile.TemporaryDirectory(prefix="runoff-quality-") as place:
        folder = Path(place)
        internal = {name: f"runoff_{number}" for number, name in enumerate(tasks.names)}
        for name, questions in tasks.files.items():
            kind = kind_of(questions, has_prompt_logprobs=tasks.has_prompt_logprobs)
            write_task(questions, internal[name], kind, folder)
        called = [internal[n] if n in tasks.files else n for n in tasks.names]
        found = _ran(_job(server, tasks, called, folder, streams), folder, environment, look)
    return tuple(
        _read(name, each, own=f"{internal[name]}/" if name in tasks.files else "")
        for name, each in zip(tasks.names, found["tasks"], strict=True)
    )


def unknown_tasks(
    tasks: Sequence[str], environment: Mapping[str, str], look: Callable[[], None]
) -> tuple[str, ...]:
    """Those that are no file and that the harness does not know: ten seconds, no network.

    Raises
    ------
    InfrastructureError
        If the harness ends without an answer, with its last words.
    """
    names = [name for name in tasks if not name.startswith(PREFIX)]
    if not names:
        return ()
    with tempfile.TemporaryDirectory(prefix="runoff-quality-") as place:
        out = f"{place}/unknown.out"
        job = {"names": names, "out": out, "offline": True, "include_defaults": True}
        return tuple(_ran(job, Path(place), environment, look)["unknown"])


def no_task(name: str) -> str:
    """What is wrong with a name that the harness does not know."""
    return f"lm-evaluation-harness knows no task {name!r}"


def local_names(names: Sequence[str]) -> tuple[str, ...]:
    """Those that are files."""
    return tuple(name for name in names if name.startswith(PREFIX))


def _job(
    server: Server, tasks: Tasks, called: Sequence[str], folder: Path, streams: int
) -> dict[str, Any]:
    url = server.endpoint.url
    return {
        "url": url,
        "tokenize": f"{root_of(url)}/tokenize",
        "model": server.model,
        "headers": dict(server.endpoint.headers),
        "tasks": list(called),
        "samples": tasks.samples,
        "has_prompt_logprobs": tasks.has_prompt_logprobs,
        "include": str(folder) if tasks.files else "",
        "include_defaults": len(tasks.files) < len(tasks.names),
        "streams": streams,
        "max_length": _MAX_LENGTH,
        "timeout_s": server.timeout_s,
        "out": str(folder / "scored.out"),
        "offline": tasks.offline,
    }


def _ran(
    job: Mapping[str, Any],
    folder: Path,
    environment: Mapping[str, str],
    look: Callable[[], None],
) -> dict[str, Any]:
    surroundings = {**environment, "TOKENIZERS_PARALLELISM": "false"}
    if job["offline"]:
        surroundings |= _OFFLINE
    if not job["include_defaults"]:  # nothing of the hub is used: nothing is left behind
        surroundings |= {**_OFFLINE, "HF_HOME": str(folder / "hub")}
    log = folder / "harness.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "flows.quality.harness_child"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=surroundings,
            start_new_session=True,  # the terminal's Ctrl-C ends it through us alone
        ) as process,
    ):
        try:
            _told(process, json.dumps(job).encode())
            while process.poll() is None:
                look()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(_KILL_S)
            raise
    out = Path(job["out"])
    if process.returncode != 0 or not out.is_file():
        words = log.read_text(errors="replace").strip()[-_LAST_WORDS:]
        raise InfrastructureError(
            "lm-evaluation-harness", f"it ended with {process.returncode}: …{words}", ""
        )
    found: dict[str, Any] = json.loads(out.read_bytes())
    return found


def _told(process: subprocess.Popen[bytes], job: bytes) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.write(job)
            process.stdin.close()


def _read(name: str, found: Mapping[str, Any], *, own: str) -> Scored:
    """``own`` is what stands before the questions of a file: its place in the list."""
    if found.get("refused"):
        return Scored(task=name, refused=str(found["refused"]))
    return Scored(
        task=name,
        kind=found["kind"],
        reported=found["reported"],
        rows=tuple(
            Score(**{**row, "question": row["question"].removeprefix(own)})
            for row in found["rows"]
        ),
    )

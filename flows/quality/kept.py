"""What references gave, kept from run to run under runoff's own state.

A record is found again by everything that its answers depend on: the model and its very
weights, precision, runtime and release, the prompts and how many were in flight, the tasks.
Where one of them is not known, as of a service, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from deploy_templates.request import LaunchRequest
from flows.bench.places import write_whole
from flows.checkpoint.hub import is_commit
from flows.quality.agreeing import DEPTHS
from flows.quality.harness import Score, Scored, harness_version
from flows.quality.measuring import Given, Setup
from reports.errors import ReportsError
from reports.quality.tables import answers_bytes, read_answers

_FORMAT: Final = 2
_ANSWERS, _SCORES = "answers.parquet", "reference.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder of one reference's record."""

    folder: Path

    def read(self) -> Given | None:
        """What was kept; None where nothing is, or it is not whole."""
        try:
            found = json.loads((self.folder / _SCORES).read_bytes())
            content = (self.folder / _ANSWERS).read_bytes()
            if hashlib.sha256(content).hexdigest() != found["answers_sha256"]:
                return None
            return Given(
                answers=read_answers(self.folder / _ANSWERS),
                scored=tuple(_scored(each) for each in found["scored"]),
            )
        except (OSError, ValueError, LookupError, TypeError, ReportsError):
            return None

    def write(self, given: Given, about: Mapping[str, Any]) -> None:
        """Keep it; what is not whole is not kept, so that the next run tries again."""
        if given.left_out or not given.answers:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        content = answers_bytes(given.answers)
        (self.folder / _ANSWERS).write_bytes(content)
        found = {
            "about": about,
            "answers_sha256": hashlib.sha256(content).hexdigest(),
            "scored": [asdict(each) for each in given.scored],
        }
        write_whole(self.folder / _SCORES, json.dumps(found, indent=1, sort_keys=True))


def identity(request: LaunchRequest, setup: Setup) -> Mapping[str, Any] | None:
    """Everything that a reference's answers depend on; None where its weights are not known."""
    weights = weights_of(request)
    if weights is None:
        return None
    variables = asdict(request.variables)
    own = (
        "weights",
        "kv_cache",
        "quantization",
        "attention_backend",
        "tensor_parallel",
        "generation_config",
    )
    return {
        "format": _FORMAT,
        "model": request.model,
        "weights": weights,
        "runtime": request.runtime,
        "version": request.version,
        "variant": request.variant,
        "variables": {name: variables.get(name) for name in own},
        "extra_args": list(request.extra_args),
        "extra_env": _sha256(dict(request.extra_env)),  # it may hold what is secret
        "device_class": request.device_class,
        "prompts": setup.prompts.sha256,
        "answer_tokens": setup.answer_tokens,
        "depths": list(DEPTHS),
        "streams": setup.streams,
        "tasks": [setup.tasks.key(name) for name in setup.tasks.names],
        "harness": harness_version() if setup.tasks.names else None,
    }


def place_of(root: Path, about: Mapping[str, Any]) -> Place:
    """Where the record with that identity lies, below runoff's state."""
    return Place(folder=root / "quality" / _sha256(about)[:16])


def weights_of(request: LaunchRequest) -> str | None:
    """The identity of the weights: a digest, a commit of the hub; None where not known.

    A branch or a tag of the hub may move, and names no weights.

    Files of the user's are told apart by names, sizes and times of change: to hash a hundred
    gigabytes takes longer than to answer the prompts.
    """
    checkpoint = request.checkpoint
    if checkpoint.sha256 is not None:
        return f"sha256:{checkpoint.sha256}"
    if checkpoint.location is None:
        revision = request.variables.revision
        return f"revision:{revision}" if is_commit(revision) else None
    place = Path(checkpoint.location)
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    try:
        seen = [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    except OSError:
        return None  # on another machine
    return f"files:{_sha256(seen)}"


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _scored(found: Mapping[str, Any]) -> Scored:
    rows = tuple(Score(**row) for row in found["rows"])
    return Scored(**{**found, "rows": rows})

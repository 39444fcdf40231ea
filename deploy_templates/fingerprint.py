"""The identity of a launch: one hash over all that can move a number, and nothing else."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import PurePosixPath

from deploy_templates.plan import LaunchPlan
from deploy_templates.request import Checkpoint, LaunchRequest, Mirrors

NEUTRAL_NAME = "candidate"
NEUTRAL_PORT = 1


def neutral(request: LaunchRequest) -> LaunchRequest:
    """The same launch with the names and places that cannot move a number made equal.

    The candidate's name, the served name, port and interface, folders, where programs lie,
    mirrors and whether the site is offline; what a checkpoint is remains.
    """
    draft = request.variables.draft_model
    is_path = draft is not None and draft.startswith("/")
    return replace(
        request,
        name=NEUTRAL_NAME,
        port=NEUTRAL_PORT,
        served_model=None,
        checkpoint=_nowhere(request.checkpoint),
        variables=replace(
            request.variables,
            draft_model=PurePosixPath(draft).name if draft and is_path else draft,
        ),
        mirrors=Mirrors(),
        offline=False,
        is_open=False,
        programs={},
        devices=tuple(range(len(request.devices))),
        weight_bytes=None,
    )


def fingerprint_of(plan: LaunchPlan, request: LaunchRequest) -> str:
    """SHA-256 (hex) of a neutral request's plan: what it runs, and of what it is made."""
    identity = {
        "runtime": plan.runtime,
        "version": plan.version,
        "form": plan.form,
        "model": request.model,
        "checkpoint": {"kind": request.checkpoint.kind, "sha256": request.checkpoint.sha256},
        "device_class": request.device_class,
        "variables": asdict(request.variables),
        "argv": plan.argv,
        "env": dict(plan.env),
        "files": {name: text for name, text in plan.files.items() if name != "serve.sh"},
        "install": plan.install.script,
        "software": [
            (need.kind, need.name, need.version, need.digest)
            for need in plan.needs
            if need.kind in ("image", "wheel", "program")
        ],
    }
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _nowhere(checkpoint: Checkpoint) -> Checkpoint:
    if checkpoint.location is None:
        return checkpoint
    return replace(
        checkpoint, location=f"checkpoint{PurePosixPath(checkpoint.location).suffix}"
    )

"""A baseline and re-evaluations of it, as synthetic runs whose true figures are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from reports.conclude import conclude
from reports.manifest import manifest_sha256, write_manifest
from reports.reevaluate.pin import baseline_of
from reports.run import layout
from reports.run.baseline_file import Baseline
from reports.run.layout import RunFolder
from reports.run.read import file_text, read_run
from reports.run.reevaluation_file import Reevaluation
from tests.reports.run.builder import NOW, QUICK, B, C, Made, build_run, launch_fingerprint

CONTROL = "B-baseline"
DRIVER = "NVIDIA A100-SXM4-80GB"


def on_host_of(owner: str, made: Made, **changes: Any) -> Made:
    """The candidate on another's machine, with fields changed."""
    host = f"host-{owner}"
    facts = {**made.facts, "host": host, **changes.pop("facts", {})}
    return replace(made, facts=facts, cell={"host": host}, **changes)


def control(**changes: Any) -> Made:
    """The baseline's winner as it was, measured again on the same machine."""
    facts = {"fingerprint": launch_fingerprint("B"), **changes.pop("facts", {})}
    return on_host_of("B", B, name=CONTROL, facts=facts, **changes)


def newer(**changes: Any) -> Made:
    """The champion at a newer release."""
    facts = {"version": "0.33.0", **changes.pop("facts", {})}
    return on_host_of("B", B, facts=facts, **changes)


@cache
def baseline_run(root: Path) -> RunFolder:
    """A concluded run in which B is chosen before C."""
    folder = build_run(root / "baseline", (B, C), **QUICK)
    conclude(folder, now=NOW)
    write_manifest(folder)
    return folder


def pin(folder: RunFolder, **changes: Any) -> Baseline:
    """The run pinned; by default champion and control are apart."""
    values = {
        "champion": "B",
        "control": CONTROL,
        "versions": "latest-known",
        "campaign_sha256": "c" * 63 + "1",
        **changes,
    }
    return baseline_of(read_run(folder.path), manifest_sha256=manifest_sha256(folder), **values)


def begun(root: Path, baseline: Baseline, made: Sequence[Made], **changes: Any) -> RunFolder:
    """A measured run that is to be held against the baseline."""
    plan = {"incumbent": baseline.control, **changes.pop("plan", {})}
    folder = build_run(root / "again", made, seed=7, plan=plan, **{**QUICK, **changes})
    folder.file(layout.BASELINE).write_text(file_text(baseline))
    return folder


def answer_of(folder: RunFolder) -> Reevaluation:
    """The answer, concluded from the run's files."""
    conclude(folder, now=NOW)
    found = read_run(folder.path).reevaluation
    assert found is not None
    return found

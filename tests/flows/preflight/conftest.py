from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.load import load_campaign, load_catalog
from deploy_templates.registry import load_runtimes
from flows.preflight import Finding, Probes, Question, preflight, question_of
from flows.preflight.probes import Reached
from flows.system.facts import Core
from flows.system.here import facts_here

NOW = dt.datetime(2026, 8, 25, 12, 0, tzinfo=dt.UTC)
TODAY = NOW.date()
HEAD = """\
schema_version: 1
name: asked
contract:
  model: {model}
  prompt_tokens: 128
  output_tokens: 32
  concurrency: 4
{more}
candidates:
"""
TINY = "tiny-llama-110m"


@pytest.fixture
def question(tmp_path: Path) -> Callable[..., Question]:
    """A question about candidates as a campaign file states them."""

    def ask(
        *candidates: str,
        model: str = TINY,
        more: str = "matrix: {concurrency: [1, 4]}\nbudget: {usd: 5}",
        today: dt.date = TODAY,
    ) -> Question:
        path = tmp_path / "asked.yaml"
        rows = "".join(f"  - {candidate}\n" for candidate in candidates)
        path.write_text(HEAD.format(model=model, more=textwrap.dedent(more)) + rows)
        return question_of(
            load_campaign(path),
            load_catalog(),
            load_runtimes(),
            today=today,
            store=tmp_path / "runs",
            checkpoints=tmp_path / "checkpoints",
        )

    return ask


@pytest.fixture
def world() -> Probes:
    """A machine on which nothing stands in the way: 4 cores, 16 GiB, quiet, all installed."""
    here = facts_here("local", NOW)
    system = replace(
        here,
        cpu=replace(
            here.cpu,
            allowed=(0, 1, 2, 3),
            cores=tuple(Core(socket=0, cpus=(cpu,)) for cpu in range(4)),
        ),
        memory=replace(here.memory, total_bytes=2**34, available_bytes=2**34),
        limits=replace(here.limits, cgroup_memory_bytes=None, open_files_most=4096),
    )
    return Probes(
        environment={},
        system=system,
        program=lambda name: f"/usr/bin/{name}",
        exists=lambda path: True,
        has_module=lambda name: True,
        room=lambda folder: 2**40,
        kept=lambda folder: 0,
        unwritable=lambda folder: None,
        taken=lambda host, port: None,
        ask=lambda url, headers: Reached(status=200, models=(TINY,)),
        load=lambda: None,
        holder=lambda: None,
    )


@pytest.fixture
def found(question, world) -> Callable[..., list[Finding]]:
    """Findings about candidates in the quiet world, or in one that differs from it."""

    def look(*candidates: str, changed: dict | None = None, **asked) -> list[Finding]:
        return list(
            preflight(question(*candidates, **asked), replace(world, **(changed or {})))
        )

    return look

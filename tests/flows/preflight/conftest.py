from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.load import load_campaign, load_catalog
from deploy_templates.registry import load_runtimes
from flows.preflight import Finding, Question, preflight, question_of

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
def found(question, world) -> Callable[..., list[Finding]]:
    """Findings about candidates in the quiet world, or in one that differs from it."""

    def look(*candidates: str, changed: dict | None = None, **asked) -> list[Finding]:
        return list(
            preflight(question(*candidates, **asked), replace(world, **(changed or {})))
        )

    return look

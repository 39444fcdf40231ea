"""Campaigns and their plans as values, for tests of what works with them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import yaml

from catalog.load import load_campaign, load_catalog
from catalog.schema import Campaign
from flows.run_plan import make_run_plan
from reports.run.plan_file import RunPlan

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
ROOT = Path(__file__).parents[2]
CANONICAL = ROOT / "catalog" / "campaigns" / "canonical.yaml"
HERE: dict[str, Any] = {
    "schema_version": 1,
    "name": "here",
    "contract": {
        "model": "tiny-llama-110m",
        "prompt_tokens": 32,
        "output_tokens": 16,
        "concurrency": 4,
        "slo": {"ttft": "500 ms", "itl": "100 ms", "goodput": "95%"},
    },
    "candidates": [
        {"name": "one", "host": "local", "runtime": "rehearsal"},
        {"name": "two", "host": "local", "runtime": "rehearsal"},
    ],
    "matrix": {"concurrency": [1, 4, 8], "replications": 3},
    "screening": {"unknown": "measure"},
}


def campaign_of(folder: Path, changes: dict[str, Any] | None = None) -> tuple[Path, Campaign]:
    """``HERE`` with changed keys (mappings are merged one level deep): its file, its value."""
    document = {**HERE}
    for key, value in (changes or {}).items():
        old = document.get(key)
        document[key] = {**old, **value} if isinstance(old, dict) else value
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(document))
    return path, load_campaign(path)


def plan_of(path: Path, **asked: Any) -> RunPlan:
    """The plan of a campaign file on a fixed day."""
    given = {"now": NOW, "run": "20261130T120000Z-0123abcd", **asked}
    return make_run_plan(load_campaign(path), path.read_bytes(), load_catalog(()), **given)

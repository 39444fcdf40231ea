"""The published schemas are those of the readers, and what is written fits them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reports.run.read import file_text
from reports.schemas import RESULTS, result_schema
from tests.reports.run.builder import QUICK, B, build_run

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"
PLACES = {"cell": "cells/*/*.cell.json", "host": "hosts/*/system.json", "plan": "plan.json"}


def schema(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((PUBLISHED / f"{name}.schema.json").read_text())
    return read


@pytest.mark.parametrize("name", RESULTS)
def test_the_published_schema_is_current(name: str) -> None:
    """Written by ``runoff catalog schema NAME``."""
    assert schema(name) == result_schema(name)


def test_every_kind_of_result_file_has_a_published_schema() -> None:
    assert sorted(path.name for path in PUBLISHED.iterdir()) == [
        f"{name}.schema.json" for name in sorted(RESULTS)
    ]


@pytest.mark.parametrize("name", RESULTS)
def test_a_published_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", sorted(PLACES))
def test_the_evidence_of_a_run_fits_the_published_schemas(tmp_path: Path, name: str) -> None:
    folder = build_run(tmp_path, [B], replications=1, **QUICK)
    paths = list(folder.path.glob(PLACES[name]))
    checker = jsonschema.Draft202012Validator(schema(name))

    assert paths
    for path in paths:
        checker.validate(json.loads(path.read_text()))


def test_a_schema_refuses_what_its_reader_refuses() -> None:
    checker = jsonschema.Draft202012Validator(schema("manifest"))

    assert not checker.is_valid({"schema_version": 2, "files": {}})
    assert not checker.is_valid({"schema_version": 1, "files": {"a": {"sha256": 1}}})


def test_a_signoff_fits_its_schema() -> None:
    from tests.reports.test_signoff import signed

    checker = jsonschema.Draft202012Validator(schema("signoff"))
    checker.validate(json.loads(file_text(signed())))

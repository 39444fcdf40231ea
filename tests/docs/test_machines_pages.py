"""The pages about machines say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from catalog.schema.cloud import Aws
from flows.amazon import tags
from flows.amazon.driver import REGIONS
from flows.amazon.policy import minimal_policy
from flows.cli import run

DOCS = Path(__file__).parents[2] / "docs"
AWS = (DOCS / "aws.md").read_text(encoding="utf-8")
MACHINES = (DOCS / "machines.md").read_text(encoding="utf-8")


def test_the_policy_on_the_page_is_the_one_that_is_printed():
    (shown,) = re.findall(r"```json\n(.*?)```", AWS, re.DOTALL)

    assert json.loads(shown) == minimal_policy()


@pytest.mark.parametrize("key", Aws.model_fields)
def test_every_key_of_aws_is_documented(key):
    assert f"`{key}`" in AWS


def test_tags_and_variables_are_documented():
    for name in (tags.CAMPAIGN, tags.RUN, tags.EXPIRES, tags.HOST, tags.BY, REGIONS):
        assert f"`{name}`" in AWS


@pytest.mark.parametrize(
    "option", ["--release", "--all", "--yes", "--json", "--store", "--region"]
)
def test_options_of_machines_are_documented_and_exist(option, capsys):
    run(["machines", "--help"])

    assert f"`{option}" in MACHINES
    assert option in capsys.readouterr().out

"""Prices on pages are of what ships: a candidate of a shipped campaign, or an offer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from catalog.load import load_campaign, load_catalog

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/whatif.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_price_that_a_command_states_is_of_something_shipped(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if "runoff whatif RUN" in line]
    named = set(re.findall(r"--price ([^\s=]+)=", "\n".join(commands)))
    campaigns = map(load_campaign, (ROOT / "catalog/campaigns").glob("*.yaml"))
    candidates = {each.name for campaign in campaigns for each in campaign.candidates}

    assert named
    assert named <= candidates | set(load_catalog().offers)

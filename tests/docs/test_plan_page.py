"""The page on plans says what the statistics say that a plan can show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reports.stats.power import requests_for_percentile
from reports.stats.share_claim import share_claim

PAGE = Path(__file__).parents[2] / "docs" / "plan.md"


@pytest.mark.parametrize("percent", [95, 99])
def test_the_requests_that_a_limit_takes_are_those_of_all_launches(percent):
    needed = requests_for_percentile(percent)
    per_launch = -(-needed // 3)

    def verdict(requests: int) -> str:
        return share_claim([np.ones(requests, bool)] * 3, percent / 100).verdict

    assert verdict(per_launch) == "holds"
    assert verdict(per_launch - 1) == "inconclusive"
    (line,) = [each for each in PAGE.read_text().splitlines() if "over all launches" in each]
    assert f"p{percent} takes {needed}" in line

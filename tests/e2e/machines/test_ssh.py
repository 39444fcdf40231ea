"""A campaign on a host over SSH: servers and load there, evidence here, nothing left."""

from __future__ import annotations

import pytest

from tests.e2e.campaign.conftest import kept, planned
from tests.e2e.machines.conftest import far_llama

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


def test_a_campaign_on_a_host_over_ssh_reaches_its_decision(folder, box):
    campaign = folder.campaign([far_llama("far")])

    done = folder.compare(campaign)

    assert done.code == 0, done.err
    run = folder.run
    assert kept(run) == planned(run)

"""A host is equipped once, asked over whatever connection there is, and says what it lacks."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


def test_the_agent_answers_with_nothing_installed_there(ssh_host, remote):
    host = remote(ssh_host)

    facts = host.ask("facts", host_id="box")

    assert facts["host_id"] == "box"
    assert host.equipped.root == str(ssh_host.root)

"""No secret leaves: not to AWS's API, not into tags, ledgers, files that others read."""

from __future__ import annotations

import base64
import json
import urllib.parse
from pathlib import Path

import pytest

from flows.errors import InfrastructureError
from tests.flows.amazon.aws_endpoint import Fault
from tests.flows.amazon.conftest import order

pytestmark = pytest.mark.e2e
TOKEN = "hf_plantedTokenOfTheTest0123456789"  # it opens nothing


def every_byte(world) -> bytes:
    """All requests as they were sent, user data decoded beside them."""
    sent = b"\n".join(each.raw for each in world.seen)
    data = [
        base64.b64decode(each.parameters["UserData"])
        for each in world.seen
        if "UserData" in each.parameters
    ]
    assert data
    return b"\n".join([sent, urllib.parse.unquote_to_bytes(sent), *data])


def test_a_planted_token_is_nowhere_but_where_it_came_from(
    driver_with, world, ledger, caplog, capfd
):
    planted = {"HF_TOKEN": TOKEN, "AWS_SESSION_TOKEN": "session-of-the-test"}
    driver = driver_with(more=planted)
    world.faults = [Fault("RunInstances", "InsufficientInstanceCapacity", times=1)]

    machine = driver.ready(driver.acquire(order(), ledger), ledger)
    driver.list_owned()
    kept = [path.read_bytes() for path in driver.site.state.rglob("*") if path.is_file()]
    driver.release(machine, ledger)
    world.faults = [Fault("*", "UnauthorizedOperation")]
    with pytest.raises(InfrastructureError) as told:
        driver.acquire(order(), ledger)

    said = [json.dumps(ledger), str(told.value), caplog.text, *capfd.readouterr()]
    for secret in (TOKEN, "the-secret-of-the-test"):
        assert secret.encode() not in every_byte(world)
        assert not any(secret.encode() in each for each in kept)
        assert not any(secret in each for each in said)


def test_the_key_that_opens_the_machine_stays_at_home(driver, world, ledger):
    machine = driver.acquire(order(), ledger)
    private = Path(machine.login.key).read_text().splitlines()[1:-1]

    assert len(private) > 3
    for line in private[2:]:  # the first lines hold the format and the public part
        assert line.encode() not in every_byte(world)
        assert line not in json.dumps(ledger)


def test_what_is_kept_at_home_is_for_its_owner_alone(driver, ledger, tmp_path):
    driver.acquire(order(), ledger)

    keys = [path for path in (tmp_path / "state").rglob("*") if path.suffix in {"", ".host"}]
    files = [path for path in keys if path.is_file() and "regions" not in path.parts]
    assert {path.name for path in files} >= {"key", "aws-g6.xlarge.host", "lock"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}

"""One endpoint for all tests of a worker, emptied before each; a driver that talks to it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from catalog.quantity import Basis, Quantity
from flows.amazon.driver import Amazon
from flows.clouds import aws
from flows.clouds.protocol import Order, Site
from tests.flows.amazon.aws_endpoint import Proxy, World, running_aws
from tests.flows.amazon.campaigns import campaign_with

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
EXPIRES = NOW + dt.timedelta(hours=2)
STATED = Quantity(value=0.99, unit="USD/h", basis=Basis.ASSUMPTION, source="the catalog")


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Proxy]:
    with running_aws() as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library asks again as often as ever, and waits less between."""
    place = "botocore.retries.standard.ExponentialBackoff.delay_amount"
    monkeypatch.setattr(place, lambda _self, _context: 0.01)


@pytest.fixture
def world(endpoint: Proxy) -> World:
    return endpoint.reset()


@pytest.fixture
def environment(endpoint: Proxy, tmp_path: Path) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": "the-secret-of-the-test",
        "AWS_REGION": "us-east-1",
        "RUNOFF_LOOPBACK_ONLY": "1",
        "HOME": str(tmp_path),
        "USER": "ada",
    }


@pytest.fixture
def driver_with(world: World, environment: dict[str, str], tmp_path: Path):
    def made(*, more: dict[str, str] | None = None, site: dict[str, Any] | None = None, **keys):
        told = {"state": tmp_path / "state", "now": lambda: NOW, **(site or {})}
        return aws.connect(
            Site(
                environment={**environment, **(more or {})},
                campaign=campaign_with(**keys),
                **told,
            )
        )

    return made


@pytest.fixture
def driver(driver_with) -> Amazon:
    return driver_with()


def order(offer: str = "aws/g6.xlarge", **more: Any) -> Order:
    told = {"host": None, "campaign": "a", "run": "r1", "expires": EXPIRES, **more}
    return Order(offer=offer, **told)


class Ledger(list[tuple[str, dict[str, Any]]]):
    def __call__(self, event: str, **facts: Any) -> None:
        json.dumps(facts, allow_nan=False)
        self.append((event, facts))

    @property
    def events(self) -> list[str]:
        return [event for event, _ in self]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def ec2(endpoint: Proxy):
    return boto3.client(
        "ec2",
        region_name="us-east-1",
        endpoint_url=f"http://127.0.0.1:{endpoint.upstream}",
        aws_access_key_id="AKIDTEST",
        aws_secret_access_key="x",
    )


def left_in(ec2) -> dict[str, list[str]]:
    """Living instances, volumes, keys, groups: an empty account has none but its own group."""
    living = [
        each["InstanceId"]
        for held in ec2.describe_instances()["Reservations"]
        for each in held["Instances"]
        if each["State"]["Name"] != "terminated"
    ]
    groups = [
        each["GroupId"]
        for each in ec2.describe_security_groups()["SecurityGroups"]
        if each["GroupName"] != "default"
    ]
    found = {
        "instances": living,
        "volumes": [each["VolumeId"] for each in ec2.describe_volumes()["Volumes"]],
        "keys": [each["KeyName"] for each in ec2.describe_key_pairs()["KeyPairs"]],
        "groups": groups,
    }
    return {kind: names for kind, names in found.items() if names}

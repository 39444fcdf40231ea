"""What a campaign learns of AWS before its first paid step."""

from __future__ import annotations

import pytest

from catalog.schema import Candidate
from flows.clouds import findings_before
from tests.flows.amazon.aws_endpoint import Fault
from tests.flows.amazon.conftest import left_in

pytestmark = pytest.mark.e2e


def candidate(offer: str = "aws/g6.xlarge", **more) -> Candidate:
    return Candidate(name="x", offer=offer, runtime="vllm", **more)


def found(driver, *candidates: Candidate) -> dict[str, str]:
    told = findings_before(driver.site, candidates or [candidate()])
    return {each.where: each.severity for each in told}


def test_nothing_stands_against_an_account_that_may_rent(driver, ec2):
    assert found(driver) == {}
    assert left_in(ec2) == {}


def test_a_file_that_admits_nobody_is_told_before_the_start(driver_with):
    assert found(driver_with(caller=None)) == {"aws.caller": "blocks"}
    assert found(driver_with(caller=None, security_groups=["sg-1"])) == {}


def test_a_quota_and_a_permission_are_told_before_the_start(driver, world):
    world.faults = [Fault("RunInstances", "UnauthorizedOperation")]

    assert found(driver, candidate("aws/g6.12xlarge")) == {
        "AWS us-east-1 g6.12xlarge quota": "blocks",
        "AWS us-east-1 ec2:RunInstances": "blocks",
    }


def test_a_quota_that_cannot_be_seen_is_a_doubt(driver, world):
    world.answers["GetServiceQuota"] = ("AccessDeniedException", "no")

    assert found(driver) == {"AWS us-east-1 g6.xlarge quota": "warns"}


def test_what_is_stated_is_not_asked_to_be_made(driver_with, world, ec2):
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    stated = {
        "caller": None,
        "subnets": [subnet],
        "security_groups": ["sg-1"],
        "key_name": "ada",
        "key_file": "ada.pem",
    }

    assert found(driver_with(**stated)) == {}
    assert not {"CreateSecurityGroup", "ImportKeyPair"} & set(world.actions())


def test_an_account_without_a_default_network_may_rent_in_its_own(driver_with, world, ec2):
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    world.faults = [
        Fault(
            "RunInstances",
            "VPCIdNotSpecified",
            "No default VPC for this user",
            only=lambda parameters: "SubnetId" not in parameters,
        )
    ]

    assert found(driver_with(subnets=[subnet])) == {}


def test_others_machines_are_not_asked_for(driver, world):
    endpoint = Candidate(name="y", endpoint=["http://127.0.0.1:1/v1"])

    assert found(driver, candidate(host="local"), endpoint) == {}
    assert world.actions() == []


def test_a_guard_that_keeps_every_request_here_is_told(driver_with):
    (told,) = found(driver_with(more={"AWS_ENDPOINT_URL": ""})).values()

    assert told == "blocks"

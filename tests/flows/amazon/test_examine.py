"""``runoff doctor aws``: every permission is tried, nothing is made."""

from __future__ import annotations

import json

import pytest

from flows.amazon.policy import minimal_policy
from flows.cli import run
from tests.flows.amazon.aws_endpoint import Fault
from tests.flows.amazon.conftest import left_in, order

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _shell(environment, monkeypatch, tmp_path, world):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def looked(capsys, *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = run(["doctor", "aws", *words, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["ready"] == (code == 0)
    return code, {each["topic"]: each for each in told["aws"]}


def test_an_account_that_may_rent_is_ready_and_nothing_was_made(capsys, ec2, world):
    code, found = looked(capsys, "us-east-1")

    assert code == 0
    assert found["AWS identity"]["seen"].startswith("arn:aws:")
    assert found["us-east-1 g6.xlarge image"]["seen"].startswith("Deep Learning")
    assert "us-east-1a" in found["us-east-1 g6.xlarge zones"]["seen"]
    assert found["us-east-1 g6.xlarge quota"]["seen"] == (
        "'Running On-Demand G and VT instances' (L-DB2E81BA) allows 8 vCPUs, "
        "one machine needs 4"
    )
    assert found["us-east-1 ec2:RunInstances"]["seen"] == "allowed"
    assert left_in(ec2) == {}
    acting = [
        each
        for each in world.seen
        if each.parameters.get("Action", "Describe").startswith(
            ("Run", "Create", "Import", "Delete", "Terminate")
        )
    ]
    assert acting
    assert all(each.parameters["DryRun"] == "true" for each in acting)


@pytest.mark.parametrize("action", ["RunInstances", "ImportKeyPair", "CreateSecurityGroup"])
def test_a_missing_permission_blocks_with_its_name(capsys, world, action):
    world.faults = [Fault(action, "UnauthorizedOperation")]

    code, found = looked(capsys, "us-east-1")

    assert code == 8
    blocking = [topic for topic, each in found.items() if each["state"] == "blocks"]
    assert blocking == [f"us-east-1 ec2:{action}"]
    assert "--policy" in found[blocking[0]]["do"]


@pytest.mark.parametrize("action", ["RunInstances", "ImportKeyPair", "CreateSecurityGroup"])
def test_a_policy_that_lets_things_be_made_and_not_tagged_blocks(capsys, world, action):
    world.faults = [
        Fault(
            action, "UnauthorizedOperation", only=lambda p: "TagSpecification.1.Tag.1.Key" in p
        )
    ]

    code, found = looked(capsys, "us-east-1")

    assert code == 8
    assert found[f"us-east-1 ec2:{action}"]["state"] == "blocks"


def test_a_policy_that_is_limited_to_our_tags_is_no_fault(capsys, world):
    world.faults = [Fault("TerminateInstances", "UnauthorizedOperation")]

    code, found = looked(capsys, "us-east-1")

    assert code == 0
    assert found["us-east-1 ec2:TerminateInstances"]["state"] == "warns"


def test_a_quota_that_is_too_small_blocks_before_anything_is_paid(capsys):
    code, found = looked(capsys, "us-east-1", "--type", "g6.12xlarge")

    assert code == 8
    quota = found["us-east-1 g6.12xlarge quota"]
    assert (quota["state"], "allows 8 vCPUs, one machine needs 48" in quota["seen"]) == (
        "blocks",
        True,
    )


def test_an_image_that_is_not_there_blocks(capsys, world):
    world.answers["GetParameter"] = ("ParameterNotFound", "there is none")

    code, found = looked(capsys, "us-east-1")

    assert code == 8
    assert "ParameterNotFound" in found["us-east-1 g6.xlarge"]["seen"]


def test_unusable_credentials_are_all_that_is_said(capsys, world):
    world.faults = [Fault("*", "ExpiredToken", "The security token is expired")]

    code, found = looked(capsys, "us-east-1", "eu-west-1")

    assert code == 8
    assert list(found) == ["AWS identity"]


def test_several_regions_are_looked_at_and_the_environments_without_any(capsys):
    _, found = looked(capsys, "us-east-1", "eu-west-1")
    assert {topic.split(" ")[0] for topic in found} == {"AWS", "us-east-1", "eu-west-1"}

    run(["doctor", "aws"])
    assert "us-east-1 ec2:RunInstances" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.yaml", "b.yaml"], "one campaign is looked at at a time"),
        (["--policy"], "runoff doctor aws"),
        (["./aws"], "aws"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, words, said):
    assert run(["doctor", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_policy_grants_every_call_of_a_life_and_no_other(
    driver, driver_with, ledger, world, capsys
):
    machine = driver.ready(driver.acquire(order(), ledger), ledger)
    driver_with(caller="198.51.100.9/32").acquire(order(), ledger)  # takes it over
    driver.list_owned()
    driver.release(machine, ledger)
    called = {each.action for each in world.seen}

    assert run(["doctor", "aws", "--policy"]) == 0
    told = json.loads(capsys.readouterr().out)
    granted = {
        action.partition(":")[2]
        for statement in told["Statement"]
        for action in statement["Action"]
    }
    assert told == minimal_policy()
    assert called - granted == set()
    assert (
        granted - called
        == {  # of spot, quotas, stated subnets, failures, things left behind
            "DescribeSpotPriceHistory",
            "GetServiceQuota",
            "DescribeSubnets",
            "DeleteVolume",
            "DeleteNetworkInterface",
            "GetConsoleOutput",
        }
    )

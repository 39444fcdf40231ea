"""The driver against AWS's API over HTTP: what it asks for, and what becomes of refusals."""

from __future__ import annotations

import base64
import datetime as dt
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from catalog.load import load_catalog
from flows.amazon import removal
from flows.clouds.protocol import PartlyListedError, machine_from_json
from flows.errors import ExitCode, InfrastructureError, StillBilled, UsageError
from tests.flows.amazon.aws_endpoint import (
    ARM,
    NOBODYS,
    UBUNTU,
    Fault,
    price_list,
    spot_history,
)
from tests.flows.amazon.campaigns import CALLER
from tests.flows.amazon.conftest import EXPIRES, NOW, STATED, Ledger, left_in, order

pytestmark = pytest.mark.e2e


def run_instances(world):
    (asked,) = world.parameters("RunInstances")
    return asked


def tags_in(ec2, kind: str) -> dict[str, str]:
    found = ec2.describe_tags(Filters=[{"Name": "resource-type", "Values": [kind]}])["Tags"]
    return {tag["Key"]: tag["Value"] for tag in found}


# what is asked for


def test_a_machine_ends_with_its_shutdown_and_its_volume_is_encrypted_and_goes_with_it(
    driver, world, ledger
):
    driver.acquire(order(disk_bytes=200 * 2**30), ledger)

    asked = run_instances(world)
    volume = {
        name.removeprefix("BlockDeviceMapping.1."): value
        for name, value in asked.items()
        if name.startswith("BlockDeviceMapping.1.")
    }
    assert asked["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert asked["MetadataOptions.HttpTokens"] == "required"
    assert (asked["MinCount"], asked["MaxCount"]) == ("1", "1")
    assert volume == {
        "DeviceName": "/dev/sda1",
        "Ebs.VolumeType": "gp3",
        "Ebs.VolumeSize": str(15 + 200 + 30),
        "Ebs.Encrypted": "true",
        "Ebs.DeleteOnTermination": "true",
    }


def test_all_that_is_made_says_whose_it_is_and_until_when(driver, ledger, ec2):
    driver.acquire(order(), ledger)

    for kind in ("instance", "volume", "key-pair", "security-group"):
        found = tags_in(ec2, kind)
        assert (found["runoff:campaign"], found["runoff:run"]) == ("a", "r1")
        assert dt.datetime.fromisoformat(found["runoff:expires"]) == EXPIRES


def test_only_the_caller_reaches_the_machine_and_only_its_ssh(driver, ledger, ec2):
    driver.acquire(order(), ledger)

    (group,) = [
        each
        for each in ec2.describe_security_groups()["SecurityGroups"]
        if each["GroupName"] != "default"
    ]
    (rule,) = group["IpPermissions"]
    assert (rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) == (22, 22, "tcp")
    assert [each["CidrIp"] for each in rule["IpRanges"]] == [CALLER]


@pytest.mark.parametrize("has_machine", [False, True], ids=["another launch", "taken over"])
def test_who_calls_from_elsewhere_later_is_admitted_and_the_earlier_address_no_longer(
    driver_with, ledger, ec2, world, has_machine
):
    if not has_machine:  # what was made so far stays: the campaign is killed before the launch
        world.faults = [
            Fault("*", "Killed", only=lambda asked: "RunInstances" in asked.values())
        ]
        world.faults += [
            Fault("DeleteSecurityGroup", "Killed"),
            Fault("DeleteKeyPair", "Killed"),
        ]
        with pytest.raises(InfrastructureError):
            driver_with().acquire(order(), ledger)
        world.faults = []
    else:
        driver_with().acquire(order(), ledger)
    assert admitted(ec2) == [(22, CALLER)]
    ours = next(g for g in ec2.describe_security_groups()["SecurityGroups"] if is_ours(g))
    ec2.authorize_security_group_ingress(
        GroupId=ours["GroupId"], IpProtocol="tcp", FromPort=80, ToPort=90, CidrIp="0.0.0.0/0"
    )

    driver_with(caller="198.51.100.9/32").acquire(order(), ledger)

    assert admitted(ec2) == [(22, "198.51.100.9/32")]
    calls = world.actions().count("RevokeSecurityGroupIngress")
    driver_with(caller="198.51.100.9/32").acquire(order(), ledger)
    assert world.actions().count("RevokeSecurityGroupIngress") == calls


def is_ours(group) -> bool:
    return group["GroupName"] != "default"


def admitted(ec2) -> list[tuple[int, str]]:
    """Ports and whom they admit, of the run's group."""
    (group,) = filter(is_ours, ec2.describe_security_groups()["SecurityGroups"])
    return [
        (rule["FromPort"], each.get("CidrIp") or each["CidrIpv6"])
        for rule in group["IpPermissions"]
        for each in (*rule["IpRanges"], *rule["Ipv6Ranges"])
    ]


def test_nobody_is_admitted_where_nobody_says_who_calls(driver_with, ledger, ec2):
    with pytest.raises(UsageError, match="nobody says who may reach"):
        driver_with(caller=None).acquire(order(), ledger)

    assert ledger.events == ["acquiring", "not-acquired"]
    assert left_in(ec2) == {}


def test_the_machine_is_entered_with_a_key_of_its_own_and_proves_itself(
    driver, world, ledger, tmp_path
):
    machine = driver.acquire(order(), ledger)

    login = machine.login
    user_data = base64.b64decode(run_instances(world)["UserData"]).decode()
    told = yaml.safe_load(user_data)
    assert login.user == "ubuntu"
    assert Path(login.key).stat().st_mode & 0o777 == 0o600
    assert login.key.startswith(str(tmp_path))
    assert login.host_keys == (told["ssh_keys"]["ed25519_public"],)
    (imported,) = world.parameters("ImportKeyPair")
    assert base64.b64decode(imported["PublicKeyMaterial"]).startswith(b"ssh-ed25519 ")
    driver.release(machine, ledger)
    assert not Path(login.key).exists()


def test_the_image_is_pinned_by_id_and_name(driver, ledger):
    noted = driver.acquire(order(), ledger).noted

    assert noted["image"] == UBUNTU
    assert noted["image_name"].startswith("Deep Learning Base OSS Nvidia")
    assert noted["image_parameter"].startswith("/aws/service/deeplearning/ami/x86_64/")


@pytest.mark.parametrize(
    ("offer", "image", "parameter"),
    [
        (
            "aws/m8i.24xlarge",
            None,
            "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64",
        ),
        (
            "aws/m7g.large",
            "ubuntu",
            "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64",
        ),
        (
            "aws/m7g.large",
            "amazon-linux",
            "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
        ),
        ("aws/g6.xlarge", "/aws/service/mine", "/aws/service/mine"),
    ],
)
def test_the_image_fits_the_processor_and_the_devices(
    driver_with, world, offer, image, parameter
):
    world.answers["GetParameter"]["Parameter"]["Value"] = ARM if "m7g" in offer else UBUNTU

    driver_with(image=image).acquire(order(offer), Ledger())

    (seen,) = [each for each in world.seen if each.action == "GetParameter"]
    assert f'"{parameter}'.encode() in seen.raw.replace(b": ", b":").replace(b'\\"', b'"')


def test_an_image_for_another_processor_is_refused(driver_with, ledger, ec2):
    with pytest.raises(UsageError, match=r"it is for x86_64, m7g\.large is arm64"):
        driver_with(image=UBUNTU).acquire(order("aws/m7g.large"), ledger)

    assert left_in(ec2) == {}


def test_an_image_says_who_logs_in_or_the_file_must(driver_with, ledger):
    with pytest.raises(UsageError, match="nobody knows who logs in to 'an image of somebody'"):
        driver_with(image=NOBODYS).acquire(order(), ledger)

    stated = driver_with(image=NOBODYS, user="eve").acquire(order(), ledger)
    assert stated.login.user == "eve"
    arm = driver_with(image=ARM).acquire(order("aws/m7g.large"), ledger)
    assert arm.login.user == "ec2-user"


def test_what_a_company_requires_is_used_and_never_removed(
    driver_with, world, ledger, ec2, tmp_path
):
    subnet = ec2.describe_subnets()["Subnets"][0]
    group = ec2.create_security_group(GroupName="ours", Description="d", VpcId=subnet["VpcId"])
    ec2.create_key_pair(KeyName="ada")
    world.without = ("IamInstanceProfile.Arn",)  # moto would look for it
    driver = driver_with(
        caller=None,
        image=UBUNTU,
        subnets=[subnet["SubnetId"]],
        security_groups=[group["GroupId"]],
        key_name="ada",
        key_file=str(tmp_path / "ada.pem"),
        instance_profile="arn:aws:iam::123456789012:instance-profile/bench",
        kms_key="alias/disks",
        address="private",
        disk="200 GiB",
        disk_throughput=500,
        proxy="http://proxy.example:3128",
        tags={"cost-centre": "42"},
    )

    machine = driver.ready(driver.acquire(order(), ledger), ledger)

    asked = run_instances(world)
    assert asked["NetworkInterface.1.SubnetId"] == subnet["SubnetId"]
    assert asked["NetworkInterface.1.SecurityGroupId.1"] == group["GroupId"]
    assert asked["NetworkInterface.1.AssociatePublicIpAddress"] == "false"
    assert asked["IamInstanceProfile.Arn"].endswith("instance-profile/bench")
    assert asked["BlockDeviceMapping.1.Ebs.KmsKeyId"] == "alias/disks"
    assert asked["BlockDeviceMapping.1.Ebs.VolumeSize"] == "200"
    assert asked["BlockDeviceMapping.1.Ebs.Throughput"] == "500"
    assert asked["KeyName"] == "ada"
    assert tags_in(ec2, "instance")["cost-centre"] == "42"
    assert machine.login.key == str(tmp_path / "ada.pem")
    assert machine.address.startswith(("10.", "172."))
    assert "GetParameter" not in world.actions()
    driver.release(machine, ledger)
    assert left_in(ec2) == {"keys": ["ada"], "groups": [group["GroupId"]]}


def test_a_capacity_reservation_is_the_place_that_is_asked_for(driver_with, world, ledger):
    driver = driver_with(capacity_reservation="cr-0123456789abcdef0", zones=["us-east-1b"])
    driver.acquire(order(), ledger)

    assert (
        run_instances(world)[
            "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
        ]
        == "cr-0123456789abcdef0"
    )


def test_a_capacity_block_is_used_at_the_price_that_is_stated(driver_with, world, ledger):
    driver = driver_with(
        market="capacity-block",
        capacity_reservation="cr-0123456789abcdef0",
        zones=["us-east-1b"],
    )

    machine = driver.acquire(order(price=STATED), ledger)

    assert run_instances(world)["InstanceMarketOptions.MarketType"] == "capacity-block"
    assert machine.price == STATED
    assert "GetProducts" not in world.actions()


def test_without_any_region_the_offers_regions_are_looked_in(driver_with):
    assert driver_with(more={"AWS_REGION": ""}).regions() == ("us-east-1",)


# price


def test_the_price_at_launch_is_the_price_lists_with_its_day(driver, ledger):
    price = driver.acquire(order(price=STATED), ledger).price

    assert (price.value, price.unit, price.source) == (4.6, "USD/h", "AWS price list")
    assert price.date == NOW.date()


@pytest.mark.parametrize(
    "answer",
    [
        ("AccessDeniedException", "no"),
        price_list("4.6", "5.2"),
        price_list("0.0"),
        {"FormatVersion": "aws_v1", "PriceList": []},
        {"FormatVersion": "aws_v1", "PriceList": ["{}"]},
        {"FormatVersion": "aws_v1", "PriceList": ["no JSON"]},
    ],
    ids=["denied", "two prices", "free", "none", "no terms", "torn"],
)
def test_without_one_plain_price_the_stated_one_stays(driver, world, ledger, answer):
    world.answers["GetProducts"] = answer

    assert driver.acquire(order(price=STATED), ledger).price == STATED
    assert driver.acquire(order(number=2), ledger).price is None


def test_a_spot_machine_is_asked_for_once_and_priced_by_its_zones_history(
    driver_with, world, ledger
):
    world.rewrite = spot_history("us-east-1a", "0.3210", NOW - dt.timedelta(hours=3))

    machine = driver_with(market="spot").acquire(order(), ledger)

    asked = run_instances(world)
    assert asked["InstanceMarketOptions.MarketType"] == "spot"
    assert asked["InstanceMarketOptions.SpotOptions.SpotInstanceType"] == "one-time"
    assert (machine.price.value, machine.price.source) == (0.321, "AWS spot price history")


def test_a_spot_price_of_another_age_is_none(driver_with, world, ledger):
    machine = driver_with(market="spot").acquire(order(price=STATED), ledger)

    assert machine.price == STATED  # moto's is of the year 2006


def test_a_machine_that_only_its_tags_tell_of_has_todays_price(driver, world, ledger):
    driver.acquire(order(), ledger)

    (listed,) = driver.list_owned()
    assert (listed.machine.price.value, listed.machine.price.source) == (4.6, "AWS price list")

    world.answers["GetProducts"] = ("AccessDeniedException", "no")
    (listed,) = driver.list_owned()
    assert listed.machine.price.value == load_catalog(()).offers["aws/g6.xlarge"].price.value


# refusals


def test_the_next_zone_is_asked_where_two_have_no_room(driver, world, ledger):
    zones = {"us-east-1a", "us-east-1b"}
    world.faults = [
        Fault(
            "RunInstances",
            "InsufficientInstanceCapacity",
            only=lambda asked: asked["Placement.AvailabilityZone"] in zones,
        )
    ]

    machine = driver.acquire(order(), ledger)

    assert machine.noted["zone"] == "us-east-1c"
    asked = world.parameters("RunInstances")
    assert len({each["ClientToken"] for each in asked}) == 3
    refused = [facts["zone"] for event, facts in ledger if event == "no-capacity"]
    assert refused == ["us-east-1a", "us-east-1b"]


def test_where_no_zone_has_room_all_are_named_and_nothing_stays(
    driver_with, world, ledger, ec2
):
    world.faults = [Fault("RunInstances", "InsufficientInstanceCapacity")]

    with pytest.raises(InfrastructureError, match=r"no zone gave out g6\.xlarge") as told:
        driver_with(zones=["us-east-1b", "us-east-1c"]).acquire(order(), ledger)

    assert "us-east-1b: InsufficientInstanceCapacity, us-east-1c" in told.value.seen
    assert ledger.events[-1] == "not-acquired"
    assert left_in(ec2) == {}


def test_a_wait_for_capacity_is_told_and_can_be_given_up(driver_with, world, ledger, ec2):
    world.faults = [Fault("RunInstances", "InsufficientInstanceCapacity")]
    told = []

    def enough(why: str) -> None:
        told.append(why)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        driver_with(patience="1 h", site={"waiting": enough}).acquire(order(), ledger)

    assert told == ["waiting for capacity of g6.xlarge"]
    assert left_in(ec2) == {}


def test_a_quota_is_told_by_its_name_its_number_and_what_is_needed(driver, world, ledger, ec2):
    world.faults = [Fault("RunInstances", "VcpuLimitExceeded", "You have requested more vCPU")]

    with pytest.raises(InfrastructureError) as told:
        driver.acquire(order(), ledger)

    assert (
        "the quota is 'Running On-Demand G and VT instances' (L-DB2E81BA), "
        "it allows 8 vCPUs, this machine needs 4" in told.value.seen
    )
    assert len(world.parameters("RunInstances")) == 1
    assert left_in(ec2) == {}


def test_a_quota_is_told_by_name_where_its_number_may_not_be_seen(driver, world, ledger):
    world.faults = [Fault("RunInstances", "VcpuLimitExceeded")]
    world.answers["GetServiceQuota"] = ("AccessDeniedException", "no")

    with pytest.raises(InfrastructureError, match=r"\(L-DB2E81BA\), this machine needs 4"):
        driver.acquire(order(), ledger)


def test_a_throttled_launch_is_asked_again_in_the_same_words(driver_with, world, ledger):
    world.faults = [Fault("RunInstances", "RequestLimitExceeded", times=4)]

    driver_with(patience="20 s").acquire(order(), ledger)

    asked = world.parameters("RunInstances")
    assert len(asked) == 5
    assert len({each["ClientToken"] for each in asked}) == 1


def test_a_launch_whose_answer_is_lost_is_never_granted_twice(driver_with, world, ledger, ec2):
    world.faults = [Fault("RunInstances", "", after=True, times=4)]
    driver = driver_with(patience="20 s")

    machine = driver.acquire(order(), ledger)

    assert left_in(ec2)["instances"] == [machine.id.split("/")[1]]
    driver.release(machine, ledger)
    assert left_in(ec2) == {}


def test_a_denied_call_is_told_with_its_code_and_nothing_stays(driver, world, ledger, ec2):
    world.faults = [Fault("RunInstances", "UnauthorizedOperation", "You are not authorized")]

    with pytest.raises(InfrastructureError, match="runoff doctor aws"):
        driver.acquire(order(), ledger)

    assert left_in(ec2) == {}


def test_without_credentials_nothing_is_billed_and_that_is_said(driver, world, ledger):
    world.faults = [Fault("*", "InvalidClientTokenId", "The security token is invalid")]

    with pytest.raises(InfrastructureError, match="InvalidClientTokenId") as told:
        driver.acquire(order(), ledger)

    assert told.value.exit_code == ExitCode.INFRASTRUCTURE
    assert ledger.events == ["acquiring", "not-acquired"]


def test_credentials_that_expire_in_mid_run_are_told_as_money(driver, world, ledger, ec2):
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("*", "ExpiredToken", "The security token is expired", times=1)]

    with pytest.raises(StillBilled, match=r"may still be billed.*ExpiredToken.*Renew"):
        driver.release(machine, ledger)

    assert ledger.events[-1] == "not-released"
    driver.release(machine, ledger)
    assert left_in(ec2) == {}


def test_credentials_that_expire_before_the_launch_is_known_are_told_as_money(
    driver, world, ledger
):
    world.faults = [
        Fault("RunInstances", "", after=True, times=3),
        Fault("*", "ExpiredToken", only=lambda asked: bool(world.tokens)),
    ]

    with pytest.raises(StillBilled, match=r"a machine for aws-g6\.xlarge may still be billed"):
        driver.acquire(order(), ledger)


def test_a_denied_launch_is_no_money_even_if_nothing_more_can_be_asked(driver, world, ledger):
    world.faults = [
        Fault("RunInstances", "UnauthorizedOperation"),
        Fault("DescribeInstances", "ExpiredToken", only=lambda asked: len(world.seen) > 9),
    ]

    with pytest.raises(InfrastructureError, match="UnauthorizedOperation") as told:
        driver.acquire(order(), ledger)

    assert told.value.exit_code == ExitCode.INFRASTRUCTURE


def test_a_machine_that_is_not_listed_yet_is_ended_all_the_same(driver, world, ledger, ec2):
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("TerminateInstances", "InvalidInstanceID.NotFound", times=2)]

    driver.release(machine, ledger)

    assert left_in(ec2) == {}


def test_a_new_machine_that_stays_unlisted_is_told_as_money(driver, world, ledger, monkeypatch):
    monkeypatch.setattr(removal, "_TRIES_S", 0.2)
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("TerminateInstances", "InvalidInstanceID.NotFound")]

    with pytest.raises(StillBilled, match=r"i-\w+ may still be billed.*NotFound"):
        driver.release(machine, ledger)

    assert ledger.events[-1] == "not-released"


def test_a_new_machine_of_which_no_end_is_seen_is_told_as_money(
    driver, world, ledger, monkeypatch
):
    monkeypatch.setattr(removal, "_TRIES_S", 0.2)
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("DescribeInstances", "InvalidInstanceID.NotFound")]

    with pytest.raises(StillBilled, match="is still not listed after it was told to end"):
        driver.release(machine, ledger)


def test_an_old_machine_that_is_no_longer_known_is_over(
    driver_with, world, ledger, ec2, monkeypatch
):
    monkeypatch.setattr(removal, "_OLD_S", 0.1)
    machine = driver_with().acquire(order(), ledger)
    ec2.terminate_instances(InstanceIds=[machine.id.split("/")[1]])
    later = driver_with(site={"now": lambda: NOW + dt.timedelta(hours=3)})
    world.faults = [Fault("TerminateInstances", "InvalidInstanceID.NotFound")]

    later.release(machine, ledger)

    assert ledger.events[-1] == "released"


def test_a_machine_of_another_account_is_not_taken_for_gone(
    driver_with, world, ledger, ec2, monkeypatch
):
    monkeypatch.setattr(removal, "_OLD_S", 0.1)
    machine = driver_with().acquire(order(), ledger)
    assert re.fullmatch(r"\d{12}", machine.noted["account"])
    ec2.terminate_instances(InstanceIds=[machine.id.split("/")[1]])
    others = replace(machine, noted={**machine.noted, "account": "210987654321"})
    later = driver_with(site={"now": lambda: NOW + dt.timedelta(hours=3)})
    world.faults = [Fault("TerminateInstances", "InvalidInstanceID.NotFound")]

    with pytest.raises(StillBilled, match="got in account 210987654321, and these"):
        later.release(others, ledger)


def test_a_new_machine_that_is_not_listed_yet_is_ours_and_an_old_one_is_over(
    driver_with, world, ledger
):
    machine = driver_with().acquire(order(), ledger)
    empty = b"<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"
    world.rewrite = lambda action, body: empty if action == "DescribeInstances" else body

    (owned,) = driver_with(site={"known": (machine,)}).list_owned()
    later = driver_with(site={"known": (machine,), "now": lambda: NOW + dt.timedelta(hours=3)})

    assert (owned.machine, owned.is_billed) == (machine, True)
    assert owned.seen == "got just now and not listed by AWS yet"
    assert machine.id not in {each.machine.id for each in later.list_owned()}


def test_a_launch_that_was_granted_unheard_is_ended_once_it_is_listed(
    driver_with, world, ledger, ec2
):
    world.faults = [Fault("RunInstances", "", after=True)]
    hidden = iter([True, True, False])
    empty = b"<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"
    world.rewrite = lambda action, body: (
        empty
        if action == "DescribeInstances" and world.tokens and next(hidden, False)
        else body
    )

    with pytest.raises(InfrastructureError, match="NoAnswer"):
        driver_with(zones=["us-east-1b"]).acquire(order(), ledger)

    assert left_in(ec2) == {}


def test_a_busy_api_keeps_no_machine_that_was_granted_unheard(driver_with, world, ec2):
    busy = Fault("DescribeInstances", "RequestLimitExceeded", times=4)  # more than one call's

    def heard(event, **_facts):
        if event == "no-capacity":  # the launch has given no answer; now nothing else does
            world.faults = [lost, busy]

    lost = Fault("RunInstances", "", after=True)
    world.faults = [lost]

    with pytest.raises(InfrastructureError, match="NoAnswer"):
        driver_with(zones=["us-east-1b"], patience="0.1 s").acquire(order(), heard)

    assert left_in(ec2) == {}


def test_an_endpoint_that_is_down_is_no_answer(driver_with, ledger):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]

    with pytest.raises(InfrastructureError, match="NoAnswer"):
        driver_with(more={"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}).acquire(
            order(), ledger
        )


def test_a_page_in_the_place_of_an_answer_is_no_answer(driver, world, ledger):
    world.rewrite = lambda action, body: b"<!doctype html>\n<title>Please log in</title>\n"

    with pytest.raises(InfrastructureError, match="NoAnswer: what came is no answer of AWS"):
        driver.acquire(order(), ledger)


def test_a_throttled_release_goes_on(driver, world, ledger, ec2):
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("TerminateInstances", "RequestLimitExceeded", times=4)]

    driver.release(machine, ledger)

    assert left_in(ec2) == {}


def test_a_group_goes_once_its_machine_has_let_it_go(driver, world, ledger, ec2):
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("DeleteSecurityGroup", "DependencyViolation", times=2)]

    driver.release(machine, ledger)

    assert left_in(ec2) == {}


def test_what_costs_nothing_and_would_not_go_is_named_and_still_ours(
    driver, world, ledger, ec2
):
    machine = driver.acquire(order(), ledger)
    world.faults = [Fault("DeleteSecurityGroup", "UnauthorizedOperation")]

    driver.release(machine, ledger)

    (name,) = left_in(ec2)["groups"]
    assert ledger[-1] == (
        "released",
        {"id": machine.id, "left": [f"{name}: UnauthorizedOperation"]},
    )
    (owned,) = driver.list_owned()
    assert (owned.is_billed, owned.seen) == (False, name)
    world.faults = []
    driver.release(owned.machine, ledger)
    assert left_in(ec2) == {}


def test_a_volume_that_stays_behind_is_billed_until_it_is_gone(driver, world, ledger, ec2):
    machine = driver.acquire(order(), ledger)
    told = [{"Key": key, "Value": value} for key, value in tags_in(ec2, "volume").items()]
    left = ec2.create_volume(
        AvailabilityZone="us-east-1a",
        Size=10,
        TagSpecifications=[{"ResourceType": "volume", "Tags": told}],
    )["VolumeId"]
    world.faults = [Fault("DeleteVolume", "UnauthorizedOperation", times=1)]

    with pytest.raises(StillBilled, match="a volume of run r1 may still be billed"):
        driver.release(machine, ledger)

    (owned,) = driver.list_owned()
    assert owned.is_billed
    assert left in owned.seen
    driver.release(owned.machine, ledger)
    assert left_in(ec2) == {}


def test_a_slow_api_changes_nothing(driver, world, ledger, ec2):
    world.latency_s = 0.05

    machine = driver.ready(driver.acquire(order(), ledger), ledger)
    driver.release(machine, ledger)

    assert left_in(ec2) == {}


# again


def test_a_resumed_campaign_takes_over_the_machine_of_its_earlier_try(driver_with, ledger, ec2):
    first = driver_with().acquire(order(), ledger)
    later = EXPIRES + dt.timedelta(hours=1)

    again = driver_with().acquire(order(expires=later), ledger)

    assert again.id == first.id
    assert again.login == first.login
    assert again.noted["adopted"] == "from an earlier try"
    assert again.noted["heartbeat"].endswith(f" {int(later.timestamp())}")
    assert dt.datetime.fromisoformat(tags_in(ec2, "instance")["runoff:expires"]) == later
    assert machine_from_json(again.to_json()) == again


def test_a_machine_whose_key_is_lost_is_replaced(driver_with, ledger, ec2):
    first = driver_with().acquire(order(), ledger)
    Path(first.login.key).unlink()

    again = driver_with().acquire(order(), ledger)

    assert again.id != first.id
    assert left_in(ec2)["instances"] == [again.id.split("/")[1]]


def test_a_run_of_the_same_name_elsewhere_keeps_its_machine(driver_with, ledger, ec2, tmp_path):
    first = driver_with().acquire(order(), ledger)
    before = left_in(ec2)

    with pytest.raises(InfrastructureError, match="already, got by ada@"):
        driver_with(site={"state": tmp_path / "another"}).acquire(order(), ledger)

    assert left_in(ec2) == before
    assert first.id.split("/")[1] in before["instances"]


@pytest.mark.parametrize("has_group", [False, True])
def test_a_run_of_the_same_name_elsewhere_that_is_renting_just_then_is_not_disturbed(
    driver_with, world, ec2, tmp_path, has_group
):
    """A schedule on two machines begins runs of one name in the same second."""
    own = {"security_groups": ["sg-1"]} if has_group else {}  # it meets the other's key at once
    late = driver_with(site={"state": tmp_path / "another"}, **own)
    world.faults = [Fault("RunInstances", "InsufficientInstanceCapacity", times=1)]
    refused = []

    def record(event, **_facts):
        if event == "no-capacity":  # key and group are made, and no machine is there yet
            with pytest.raises(InfrastructureError, match="already, made by ada@") as told:
                late.acquire(order(), Ledger())
            refused.append(told)

    machine = driver_with().acquire(order(), record)

    assert refused
    assert set(left_in(ec2)) == {"instances", "volumes", "keys", "groups"}
    driver_with().release(machine, record)
    assert left_in(ec2) == {}


def test_a_machine_that_another_got_for_a_run_of_the_same_name_outlives_our_release(
    driver_with, ledger, ec2, tmp_path
):
    ec2.create_key_pair(KeyName="ada")
    (group,) = ec2.describe_security_groups()["SecurityGroups"]
    stated = {
        "security_groups": [group["GroupId"]],
        "key_name": "ada",
        "key_file": str(tmp_path / "ada.pem"),
    }
    theirs = driver_with(site={"state": tmp_path / "another"}, **stated)
    ours = driver_with(**stated)
    first = theirs.acquire(order(), ledger)

    ours.release(ours.acquire(order(number=2), ledger), ledger)

    assert left_in(ec2)["instances"] == [first.id.split("/")[1]]


# what is somebody else's


ALL_BUT = ("campaign", "run", "expires", "host", "by")


@pytest.mark.parametrize("missing", ALL_BUT)
def test_what_bears_some_of_our_tags_is_never_listed_nor_removed(driver, ledger, ec2, missing):
    """A user's own tags begin with runoff too; only all five together are ours."""
    told = {
        "campaign": "a",
        "run": "r1",
        "expires": "2020-01-01T00:00:00+00:00",
        "host": "aws-g6.xlarge",
        "by": "somebody@else/1",
    }
    del told[missing]
    bears = [{"Key": f"runoff:{name}", "Value": value} for name, value in told.items()]

    def tagged(kind: str) -> list[dict]:
        return [{"ResourceType": kind, "Tags": bears}]

    ec2.run_instances(
        ImageId=UBUNTU, MinCount=1, MaxCount=1, TagSpecifications=tagged("instance")
    )
    ec2.create_volume(AvailabilityZone="us-east-1a", Size=1, TagSpecifications=tagged("volume"))
    ec2.create_key_pair(KeyName="theirs", TagSpecifications=tagged("key-pair"))
    ec2.create_security_group(
        GroupName="theirs", Description="d", TagSpecifications=tagged("security-group")
    )
    before = left_in(ec2)

    assert driver.list_owned() == ()
    driver.release(driver.acquire(order(), ledger), ledger)

    assert left_in(ec2) == before


@pytest.mark.parametrize("kind", ["key pair", "security group"])
def test_a_thing_of_the_same_name_that_is_not_ours_is_not_touched(driver, ledger, ec2, kind):
    if kind == "key pair":
        ec2.create_key_pair(KeyName="runoff-a-r1")
    else:
        ec2.create_security_group(GroupName="runoff-a-r1", Description="theirs")
    before = left_in(ec2)

    with pytest.raises(InfrastructureError, match=f"a {kind} 'runoff-a-r1' is there that"):
        driver.acquire(order(), ledger)

    assert left_in(ec2) == before
    groups = ec2.describe_security_groups(GroupNames=["runoff-a-r1"] if kind[0] == "s" else [])
    assert not any(each["IpPermissions"] for each in groups["SecurityGroups"])


def test_a_machine_of_a_ledger_is_ours_whatever_became_of_its_tags(driver_with, ledger, ec2):
    machine = driver_with().acquire(order(), ledger)
    ec2.delete_tags(Resources=[machine.id.split("/")[1]], Tags=[{"Key": "runoff:expires"}])

    (owned,) = driver_with(site={"known": (machine,)}).list_owned()

    assert owned.machine.id == machine.id


def test_one_region_that_cannot_be_asked_hides_no_other(driver_with, world, ledger):
    machine = driver_with().acquire(order(), ledger)
    world.faults = [Fault("DescribeInstances", "UnauthorizedOperation", times=1)]

    with pytest.raises(PartlyListedError, match="AWS eu-central-1") as told:
        driver_with(more={"RUNOFF_AWS_REGIONS": "eu-central-1"}).list_owned()

    assert [each.machine.id for each in told.value.owned] == [machine.id]


def test_a_region_that_is_not_enabled_hides_no_other(driver_with, world, ledger):
    """It refuses credentials that are good elsewhere."""
    machine = driver_with().acquire(order(), ledger)
    world.faults = [Fault("DescribeInstances", "AuthFailure", times=1)]

    with pytest.raises(PartlyListedError, match="AWS af-south-1") as told:
        driver_with(more={"RUNOFF_AWS_REGIONS": "af-south-1"}).list_owned()

    assert [each.machine.id for each in told.value.owned] == [machine.id]


def test_a_second_machine_of_an_earlier_try_ends_with_the_run(driver, ledger, ec2, world):
    """A try that was killed may have been granted one that was not listed yet."""
    machine = driver.acquire(order(), ledger)
    bears = ec2.describe_tags(
        Filters=[{"Name": "resource-id", "Values": [machine.id.split("/")[1]]}]
    )["Tags"]
    told = [{"Key": each["Key"], "Value": each["Value"]} for each in bears]
    ec2.run_instances(
        ImageId=UBUNTU,
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": told}],
    )

    driver.release(machine, ledger)

    assert "instances" not in left_in(ec2)
    assert "keys" not in left_in(ec2)


def test_a_host_that_is_rented_just_then_outlives_the_others_release(
    driver, ledger, ec2, monkeypatch
):
    first = driver.acquire(order(), ledger)
    got = []

    def others(*words, **named):
        got.append(driver.acquire(order(number=2), ledger))  # after the first one was let go
        return there(*words, **named)

    there = removal.living_of
    monkeypatch.setattr(removal, "living_of", others)
    monkeypatch.setattr(removal, "clear", lambda *_words, **_named: ())

    driver.release(first, ledger)

    assert left_in(ec2)["instances"] == [got[0].id.split("/")[1]]


def test_a_disk_at_home_that_is_full_keeps_no_machine(driver, ledger, ec2):
    machine = driver.acquire(order(), ledger)
    attempt = driver.home.run("a", "r1", "us-east-1").path / "aws-g6.xlarge.attempt"
    attempt.mkdir()  # it cannot be written

    driver.release(machine, ledger)

    assert left_in(ec2) == {}


def test_a_machine_that_is_bought_in_another_way_is_replaced(driver_with, ledger, ec2):
    first = driver_with().acquire(order(), ledger)

    again = driver_with(market="spot").acquire(order(), ledger)

    assert again.id != first.id
    assert left_in(ec2)["instances"] == [again.id.split("/")[1]]


def test_a_token_that_was_used_in_other_words_leads_to_the_machine_that_it_got(
    driver_with, world, ledger, ec2
):
    first = driver_with().acquire(order(), ledger)
    hidden = [{"Key": "runoff:run"}]
    ec2.delete_tags(Resources=[first.id.split("/")[1]], Tags=hidden)  # not yet listed by tag

    later = EXPIRES + dt.timedelta(hours=1)
    again = driver_with().acquire(order(expires=later), ledger)

    assert again.id == first.id
    assert len(left_in(ec2)["instances"]) == 1
    assert dt.datetime.fromisoformat(tags_in(ec2, "instance")["runoff:expires"]) == later


def test_a_token_whose_machine_is_over_gives_way_to_the_next_attempt(
    driver_with, world, ledger, ec2
):
    first = driver_with().acquire(order(), ledger)
    ec2.terminate_instances(InstanceIds=[first.id.split("/")[1]])
    world.ended.add(first.id.split("/")[1])

    again = driver_with().acquire(order(), ledger)

    assert again.id != first.id
    assert left_in(ec2)["instances"] == [again.id.split("/")[1]]


def test_a_released_machine_is_followed_by_another(driver, ledger, world):
    first = driver.acquire(order(), ledger)
    driver.release(first, ledger)

    assert driver.acquire(order(), ledger).id != first.id
    assert len({each["ClientToken"] for each in world.parameters("RunInstances")}) == 2


def test_keys_and_group_stay_until_the_runs_last_machine_is_released(driver, ledger, ec2):
    first = driver.acquire(order(), ledger)
    second = driver.acquire(order(number=2), ledger)

    driver.release(first, ledger)

    assert Path(second.login.key).exists()
    assert set(left_in(ec2)) == {"instances", "volumes", "keys", "groups"}
    driver.release(second, ledger)
    assert left_in(ec2) == {}


def test_hosts_of_a_run_are_rented_side_by_side(driver, ledger, world, ec2):
    world.latency_s = 0.02
    with ThreadPoolExecutor(3) as threads:
        got = list(threads.map(lambda n: driver.acquire(order(number=n), ledger), (1, 2, 3)))

    assert len({machine.id for machine in got}) == 3
    assert len({machine.login.key for machine in got}) == 1
    assert "DeleteKeyPair" not in world.actions()
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda machine: driver.release(machine, ledger), got))
    assert left_in(ec2) == {}


def test_a_host_that_is_not_to_be_had_takes_no_key_from_the_others(driver, ledger, world, ec2):
    world.faults = [Fault("RunInstances", "VcpuLimitExceeded", times=1)]
    driver.home.run("a", "r1", "us-east-1").hold("the-other")  # on its way, nothing launched

    with pytest.raises(InfrastructureError):
        driver.acquire(order(), ledger)

    assert set(left_in(ec2)) == {"keys", "groups"}
    driver.release(driver.acquire(order(), ledger), ledger)
    driver.home.run("a", "r1", "us-east-1").leave("the-other")


# readiness and fate


def test_a_spot_machine_that_was_taken_away_says_so(driver, ledger, ec2, world):
    machine = driver.acquire(order(), ledger)
    ec2.terminate_instances(InstanceIds=[machine.id.split("/")[1]])
    world.rewrite = lambda action, body: re.sub(
        rb"<stateReason>.*?</stateReason>|<stateReason ?/>",
        b"<stateReason><code>Server.SpotInstanceTermination</code>"
        b"<message>Server.SpotInstanceTermination: Spot instance termination</message>"
        b"</stateReason>",
        body,
        flags=re.DOTALL,
    )

    with pytest.raises(InfrastructureError, match="Spot instance termination"):
        driver.ready(machine, ledger)
    assert driver.fate(machine).startswith("terminated (Server.SpotInstanceTermination")


def test_beyond_loopback_nothing_is_asked_where_that_is_forbidden(driver_with, ledger):
    driver = driver_with(more={"AWS_ENDPOINT_URL": ""})

    with pytest.raises(InfrastructureError, match="RUNOFF_LOOPBACK_ONLY"):
        driver.acquire(order(), ledger)


def test_what_a_machine_printed_at_its_start_is_shown_where_it_may_be_seen(
    driver, world, ledger
):
    machine = driver.acquire(order(), ledger)
    assert "Linux version" in driver.console(machine)

    world.faults = [Fault("GetConsoleOutput", "UnauthorizedOperation")]
    assert driver.console(machine) == ""

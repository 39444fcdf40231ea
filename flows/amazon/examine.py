"""Whether runoff may rent in a region, asked before anything is paid: DryRuns and quotas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from catalog.schema.cloud import Aws
from flows.amazon.api import Api, ApiError
from flows.amazon.images import Image, TypeFacts, resolve_image, type_facts
from flows.amazon.launch_request import profile_of
from flows.amazon.network import network_of, places
from flows.amazon.quotas import allowed_vcpus, quota_of
from flows.amazon.refusals import explained, kind_of
from flows.amazon.tags import RUN, specifications
from flows.doctor.reading import Reading
from flows.errors import RunoffError

USUAL_TYPE: Final = "g6.xlarge"
_NOBODY: Final = "0123456789abcdef0"
_ALLOWED: Final = "DryRunOperation"
_POLICY: Final = "Grant it: runoff doctor aws --policy prints all that is needed"
_SSH: Final = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
_RULE: Final = {
    "GroupId": f"sg-{_NOBODY}",
    "IpPermissions": [{**_SSH, "IpRanges": [{"CidrIp": "192.0.2.1/32"}]}],
}
_TAGS: Final = [{"Key": RUN, "Value": "runoff-doctor"}]
_DRY: Final[dict[str, tuple[str, dict[str, Any]]]] = {  # what is ours already, as if it were
    "ec2:AuthorizeSecurityGroupIngress": ("authorize_security_group_ingress", _RULE),
    "ec2:RevokeSecurityGroupIngress": ("revoke_security_group_ingress", _RULE),
    "ec2:CreateTags": ("create_tags", {"Resources": [f"i-{_NOBODY}"], "Tags": _TAGS}),
    "ec2:GetConsoleOutput": ("get_console_output", {"InstanceId": f"i-{_NOBODY}"}),
    "ec2:DeleteNetworkInterface": (
        "delete_network_interface",
        {"NetworkInterfaceId": f"eni-{_NOBODY}"},
    ),
    "ec2:TerminateInstances": ("terminate_instances", {"InstanceIds": [f"i-{_NOBODY}"]}),
    "ec2:DeleteSecurityGroup": ("delete_security_group", {"GroupId": f"sg-{_NOBODY}"}),
    "ec2:DeleteKeyPair": ("delete_key_pair", {"KeyName": "runoff-doctor"}),
    "ec2:DeleteVolume": ("delete_volume", {"VolumeId": f"vol-{_NOBODY}"}),
}
_LOOKS: Final = {  # what release and machines look through
    "ec2:DescribeInstances": "describe_instances",
    "ec2:DescribeVolumes": "describe_volumes",
    "ec2:DescribeKeyPairs": "describe_key_pairs",
    "ec2:DescribeSecurityGroups": "describe_security_groups",
    "ec2:DescribeNetworkInterfaces": "describe_network_interfaces",
    "ec2:DescribeSpotPriceHistory": "describe_spot_price_history",
}


def readings(
    api: Api, regions: Sequence[str], kinds: Sequence[str], choices: Aws
) -> Iterator[Reading]:
    """Who calls; then, for each region and instance type, all that a campaign will need.

    What the campaign states of its own (``choices``) is looked up and not asked to be made.
    """
    try:
        told = api("sts", "get_caller_identity", regions[0])
    except ApiError as error:
        yield _blocks("AWS identity", error)
        return
    yield _ok("AWS identity", f"{told['Arn']} (account {told['Account']})")
    for region in regions:
        for kind in kinds:
            yield from _kind_readings(api, region, kind, choices)
        for action, operation in _LOOKS.items():
            yield _tried(api, region, action, operation, {})
        for action, (operation, request) in _DRY.items():
            yield _on_ours(_tried(api, region, action, operation, request))


def _kind_readings(api: Api, region: str, kind: str, choices: Aws) -> Iterator[Reading]:
    topic = f"{region} {kind}"
    try:
        facts = type_facts(api, region, kind)
        there = places(api, region, kind, choices)
        yield _ok(f"{topic} zones", ", ".join(place.zone for place in there))
        image = resolve_image(api, region, facts, choices.image, choices.user)
        yield _ok(f"{topic} image", f"{image.name} ({image.id})")
    except (ApiError, RunoffError) as error:
        yield _blocks(topic, error)
        return
    yield _quota(api, region, facts, is_spot=choices.market == "spot")
    yield from _makes(api, region, facts, image, choices)


def _quota(api: Api, region: str, facts: TypeFacts, *, is_spot: bool) -> Reading:
    quota = quota_of(facts.name, is_spot=is_spot)
    allowed = allowed_vcpus(api, region, quota)
    topic = f"{region} {facts.name} quota"
    if allowed is None:
        return Reading(
            topic=topic,
            state="warns",
            seen=f"how much {quota} allows is not to be seen",
            do="Allow servicequotas:GetServiceQuota, or look under Service Quotas",
        )
    seen = f"{quota} allows {allowed:g} vCPUs, one machine needs {facts.vcpus}"
    if allowed < facts.vcpus:
        return Reading(
            topic=topic, state="blocks", seen=seen, do="Ask AWS for more under Service Quotas"
        )
    return _ok(topic, seen)


def _makes(
    api: Api, region: str, facts: TypeFacts, image: Image, choices: Aws
) -> Iterator[Reading]:
    machine: dict[str, Any] = {
        "ImageId": image.id,
        "InstanceType": facts.name,
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": _tagged("instance", "volume", "network-interface"),
        **profile_of(choices),  # whose role we must be allowed to pass on
    }
    if choices.subnets:  # else AWS looks for a default network, which a company has not
        machine["SubnetId"] = choices.subnets[0]
    yield _tried(api, region, "ec2:RunInstances", "run_instances", machine)
    if choices.key_name is None:
        key = {
            "KeyName": "runoff-doctor",
            "PublicKeyMaterial": b"ssh-ed25519 AAAA",
            "TagSpecifications": _tagged("key-pair"),
        }
        yield _tried(api, region, "ec2:ImportKeyPair", "import_key_pair", key)
    if choices.security_groups:
        return
    try:
        network = network_of(api, region, choices)
    except (ApiError, RunoffError) as error:
        yield _blocks(f"{region} network", error)
        return
    group = {
        "GroupName": "runoff-doctor",
        "Description": "never made",
        "VpcId": network,
        "TagSpecifications": _tagged("security-group"),
    }
    yield _tried(api, region, "ec2:CreateSecurityGroup", "create_security_group", group)


def _tagged(*kinds: str) -> list[dict[str, Any]]:
    """Tags as they are asked for with a thing: making it untagged may be allowed alone."""
    return specifications(kinds, {RUN: "runoff-doctor"})


def _tried(
    api: Api, region: str, action: str, operation: str, request: dict[str, Any]
) -> Reading:
    """What AWS says to the call if it were meant."""
    topic = f"{region} {action}"
    try:
        api("ec2", operation, region, DryRun=True, **request)
    except ApiError as error:
        kind = kind_of(error)
        if error.code == _ALLOWED:
            return _ok(topic, "allowed")
        if kind == "denied":
            return Reading(topic=topic, state="blocks", seen="not allowed", do=_POLICY)
        if kind == "gone":
            return Reading(topic=topic, state="none", seen="cannot be told without one of ours")
        return _blocks(topic, error)
    return _ok(topic, "allowed")


def _on_ours(reading: Reading) -> Reading:
    """A policy that is limited to our tags refuses what is not there: that is no fault."""
    if reading.state != "blocks" or reading.do != _POLICY:
        return reading
    return Reading(
        topic=reading.topic,
        state="warns",
        seen="not allowed on a thing without runoff's tags",
        do="Right for a policy that is limited to them; else grant it",
    )


def _ok(topic: str, seen: str) -> Reading:
    return Reading(topic=topic, state="ok", seen=seen)


def _blocks(topic: str, error: ApiError | RunoffError) -> Reading:
    if isinstance(error, ApiError):
        told = explained(error)
        do = told.do if kind_of(error) != "other" else "Check what was asked for, and where"
        return Reading(topic=topic, state="blocks", seen=told.seen, do=do)
    return Reading(topic=topic, state="blocks", seen=error.seen, do=error.do)

"""Where a machine may stand, and who may reach it: zones, subnets, a group for its caller."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Final

from catalog.schema.cloud import Aws
from flows.amazon import tags
from flows.amazon.api import Api, ApiError, filters, items
from flows.amazon.launch_request import Place
from flows.clouds.protocol import Order
from flows.errors import InfrastructureError, UsageError

SSH_PORT: Final = 22
_SOURCES: Final = {  # whom a rule admits, and by which name
    "IpRanges": "CidrIp",
    "Ipv6Ranges": "CidrIpv6",
    "PrefixListIds": "PrefixListId",
    "UserIdGroupPairs": "GroupId",
}


def places(api: Api, region: str, instance_type: str, choices: Aws) -> tuple[Place, ...]:
    """Where the instance type is to be had, in the order in which it is tried.

    Raises
    ------
    UsageError
        If it is to be had nowhere that was stated.
    """
    offered = {
        each["Location"]
        for each in items(
            api,
            "ec2",
            "describe_instance_type_offerings",
            region,
            "InstanceTypeOfferings",
            LocationType="availability-zone",
            Filters=filters(instance_type=instance_type),
        )
    }
    if choices.subnets:
        standing = _subnets(api, region, choices.subnets)
        there = [Place(zone=zone, subnet=name) for name, zone in standing.items()]
    else:
        there = [Place(zone=zone) for zone in choices.zones or sorted(offered)]
    wanted = [
        place
        for place in there
        if place.zone in offered and (not choices.zones or place.zone in choices.zones)
    ]
    if not wanted:
        known = ", ".join(sorted(offered)) or "none"
        raise UsageError(
            f"AWS {region}",
            f"no zone that may be used has {instance_type} (zones that have it: {known})",
            "State other zones or subnets, or another region under aws",
        )
    return tuple(wanted)


def network_of(api: Api, region: str, choices: Aws) -> str:
    """The network (VPC) in which the machine stands: its subnets', else the default one."""
    if choices.subnets:
        found = list(
            items(
                api, "ec2", "describe_subnets", region, "Subnets", SubnetIds=[*choices.subnets]
            )
        )
        return str(found[0]["VpcId"])
    answer = api("ec2", "describe_vpcs", region, Filters=filters(is_default="true"))
    if not answer["Vpcs"]:
        raise UsageError(
            f"AWS {region}", "the account has no default network there", "State aws.subnets"
        )
    return str(answer["Vpcs"][0]["VpcId"])


def caller_range(stated: str | None, ask: Callable[[str], str]) -> str:
    """Who may reach port 22, as a range: stated, or what the stated service answers.

    Raises
    ------
    UsageError
        If nobody says; a guess would admit the wrong one, or everybody.
    """
    if stated is None:
        raise UsageError(
            "aws.caller",
            "nobody says who may reach the machine's port 22",
            "State your address (caller: 203.0.113.7), an https address that answers with it, "
            "or security_groups of your own",
        )
    if not stated.startswith("https://"):
        return stated
    answer = ask(stated).strip()
    try:
        return str(ipaddress.ip_network(ipaddress.ip_address(answer)))
    except ValueError:
        raise InfrastructureError(
            "aws.caller", f"{stated} answers {answer[:60]!r}, no address", "State the address"
        ) from None


def group_for_caller(
    api: Api,
    region: str,
    *,
    network: str,
    name: str,
    caller: str,
    made: Mapping[str, str],
    order: Order,
    home: str,
) -> str:
    """The id of the run's security group: port 22 for the caller as of now, and nothing else.

    What an earlier try of the run has admitted is no longer: its caller may be elsewhere now.

    Raises
    ------
    InfrastructureError
        If a group of that name is there and none of the run's, or none of this ``home``'s.
    """
    try:
        answer = api(
            "ec2",
            "create_security_group",
            region,
            GroupName=name,
            Description="runoff: SSH from the caller only",
            VpcId=network,
            TagSpecifications=tags.specifications(("security-group",), made),
        )
        group, earlier = str(answer["GroupId"]), []
    except ApiError as error:
        if error.code != "InvalidGroup.Duplicate":
            raise
        there = _named(api, region, network, name)
        require_of_run(there, f"security group {name!r}", region, order, home)
        group, earlier = str(there["GroupId"]), there.get("IpPermissions", [])
    try:
        api(
            "ec2",
            "authorize_security_group_ingress",
            region,
            GroupId=group,
            IpPermissions=[_ssh_from(caller)],
        )
    except ApiError as error:
        if error.code != "InvalidPermission.Duplicate":
            raise
    stale = [other for each in earlier if (other := _without(each, caller)) is not None]
    if stale:
        api(
            "ec2",
            "revoke_security_group_ingress",
            region,
            GroupId=group,
            IpPermissions=stale,
        )
    return group


def _without(admitted: Mapping[str, Any], caller: str) -> dict[str, Any] | None:
    """What a rule admits beside the caller's SSH; None where that is nobody."""
    ports = {name: admitted[name] for name in ("FromPort", "ToPort") if name in admitted}
    own = {"IpRanges": caller, "Ipv6Ranges": caller} if _is_ssh(admitted) else {}
    others = {
        kind: [each for each in admitted.get(kind, ()) if each.get(name) != own.get(kind)]
        for kind, name in _SOURCES.items()
    }
    others = {kind: listed for kind, listed in others.items() if listed}
    return {"IpProtocol": admitted["IpProtocol"], **ports, **others} if others else None


def _is_ssh(admitted: Mapping[str, Any]) -> bool:
    seen = (admitted["IpProtocol"], admitted.get("FromPort"), admitted.get("ToPort"))
    return seen == ("tcp", SSH_PORT, SSH_PORT)


def _ssh_from(caller: str) -> dict[str, Any]:
    base: dict[str, Any] = {"IpProtocol": "tcp", "FromPort": SSH_PORT, "ToPort": SSH_PORT}
    if ipaddress.ip_network(caller).version == 6:
        return {**base, "Ipv6Ranges": [{"CidrIpv6": caller, "Description": "the caller"}]}
    return {**base, "IpRanges": [{"CidrIp": caller, "Description": "the caller"}]}


def require_of_run(
    thing: Mapping[str, Any], what: str, region: str, order: Order, home: str
) -> None:
    """Return if a thing bears the run's tags and was made from here; others have names too."""
    told = tags.read(thing)
    own = (tags.fit(order.campaign), tags.fit(order.run))
    if not tags.are_ours(told) or (told[tags.CAMPAIGN], told[tags.RUN]) != own:
        raise InfrastructureError(
            f"AWS {region}",
            f"a {what} is there that is not of this run",
            "It is not touched: remove or rename it, or name the run otherwise",
        )
    if not tags.got_from(told, home):
        raise InfrastructureError(
            f"AWS {region}",
            f"run {order.run!r} has a {what} already, made by {told[tags.BY]}",
            "Go on there; or, if nobody needs it: runoff machines --release --all",
        )


def _named(api: Api, region: str, network: str, name: str) -> dict[str, Any]:
    answer = api(
        "ec2",
        "describe_security_groups",
        region,
        Filters=filters(group_name=name, vpc_id=network),
    )
    found: dict[str, Any] = answer["SecurityGroups"][0]
    return found


def _subnets(api: Api, region: str, stated: tuple[str, ...]) -> dict[str, str]:
    """Zone of each stated subnet, in the stated order."""
    found = {
        each["SubnetId"]: str(each["AvailabilityZone"])
        for each in items(
            api, "ec2", "describe_subnets", region, "Subnets", SubnetIds=list(stated)
        )
    }
    return {name: found[name] for name in stated if name in found}

"""Everything that our tags are on: machines, and what runs left behind without one."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from catalog.load import load_catalog
from catalog.quantity import Quantity
from flows.amazon import tags
from flows.amazon.api import Api, filters, items
from flows.amazon.home import Home
from flows.amazon.launching import LIVING, instances
from flows.amazon.prices import price_at_launch
from flows.amazon.removal import NEW
from flows.clouds.protocol import (
    HELD,
    HELD_ELSEWHERE,
    LEFT_BEHIND,
    Machine,
    Owned,
)

DRIVER: Final = "aws"
REMAINS: Final = "run"  # an id <region>/run/<campaign>/<run> means all that is left of a run
_LONG_AGO: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_OTHERS: Final = (  # operation, list, name; what may stay behind without a machine
    ("describe_volumes", "Volumes", "VolumeId"),
    ("describe_key_pairs", "KeyPairs", "KeyName"),
    ("describe_security_groups", "SecurityGroups", "GroupId"),
    ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
)


@dataclass(slots=True)
class _Left:
    """What a run left in a region."""

    names: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    since: dt.datetime | None = None
    is_billed: bool = False


def owned_in(
    api: Api, region: str, home: Home, now: dt.datetime, known: Mapping[str, Machine]
) -> Iterator[Owned]:
    """All that is ours in a region: it bears all of our tags, or is a machine that is known.

    ``known`` are machines that ledgers name, by id.
    """
    wanted = [*tags.of_any_run(), *filters(instance_state_name=LIVING)]
    with_machine = set()
    for unlisted in _unlisted(api, region, now, known):
        with_machine.add((unlisted.campaign, unlisted.run))
        yield _unseen(unlisted, home, region)
    for instance in instances(api, region, wanted):
        told = tags.read(instance)
        if not (tags.are_ours(told) or f"{region}/{instance['InstanceId']}" in known):
            continue
        with_machine.add((told.get(tags.CAMPAIGN, ""), told.get(tags.RUN, "")))
        price = _price(api, region, instance, now)
        yield _owned(_machine(instance, region, price), told, home, region, instance)
    for (campaign, run), left in sorted(_left(api, region).items()):
        if (campaign, run) not in with_machine:
            machine = _nobody(campaign, run, left, region, now)
            yield Owned(
                machine=machine,
                state=state_for(left.tags, home, region),
                holder=_holder(left.tags),
                is_billed=left.is_billed,
                seen=", ".join(sorted(left.names)),
            )


def _unlisted(
    api: Api, region: str, now: dt.datetime, known: Mapping[str, Machine]
) -> list[Machine]:
    """Machines that were got just now and that AWS does not list in any state yet."""
    new = {
        machine.id.partition("/")[2]: machine
        for machine in known.values()
        if machine.driver == DRIVER
        and machine.id.startswith(f"{region}/i-")
        and now - machine.acquired_at < NEW
    }
    if not new:
        return []
    listed = {
        each["InstanceId"] for each in instances(api, region, filters(instance_id=sorted(new)))
    }
    return [machine for name, machine in new.items() if name not in listed]


def _unseen(machine: Machine, home: Home, region: str) -> Owned:
    run = home.run(machine.campaign, machine.run, region)
    ended = LEFT_BEHIND if run.path.is_dir() else HELD_ELSEWHERE
    return Owned(
        machine=machine,
        state=HELD if run.is_alive() else ended,
        holder=f"campaign {machine.campaign!r}",
        is_billed=True,
        seen="got just now and not listed by AWS yet",
    )


def state_for(told: dict[str, str], home: Home, region: str) -> str:
    """Whether the campaign behind the tags lives, as far as can be told from here."""
    if not tags.got_from(told, home.id):
        return HELD_ELSEWHERE
    run = home.run(told.get(tags.CAMPAIGN, ""), told.get(tags.RUN, ""), region)
    return HELD if run.is_alive() else LEFT_BEHIND


def _owned(
    machine: Machine, told: dict[str, str], home: Home, region: str, instance: dict[str, Any]
) -> Owned:
    return Owned(
        machine=machine,
        state=state_for(told, home, region),
        holder=_holder(told),
        is_billed=True,
        seen=f"{instance['InstanceType']} {instance['State']['Name']}",
    )


def _price(
    api: Api, region: str, instance: dict[str, Any], now: dt.datetime
) -> Quantity | None:
    """What the machine costs now; the ledger of its run, where there is one, knows better."""
    kind = instance["InstanceType"]
    offers = load_catalog(()).offers
    name = f"{DRIVER}/{kind}"
    return price_at_launch(
        api,
        region=region,
        zone=instance["Placement"]["AvailabilityZone"],
        instance_type=kind,
        market=instance.get("InstanceLifecycle", "on-demand"),
        now=now,
        stated=offers[name].price if name in offers else None,
    )


def _machine(instance: dict[str, Any], region: str, price: Quantity | None) -> Machine:
    told = tags.read(instance)
    since = instance.get("LaunchTime", _LONG_AGO)
    return Machine(
        id=f"{region}/{instance['InstanceId']}",
        driver=DRIVER,
        host_id=told.get(tags.HOST, instance["InstanceId"]),
        is_local=False,
        address=instance.get("PublicIpAddress") or instance.get("PrivateIpAddress"),
        price=price,
        campaign=told.get(tags.CAMPAIGN, ""),
        run=told.get(tags.RUN, ""),
        acquired_at=since,
        expires=tags.expires_of(told) or since,
        noted={
            "instance_type": instance["InstanceType"],
            "zone": instance["Placement"]["AvailabilityZone"],
        },
    )


def _left(api: Api, region: str) -> dict[tuple[str, str], _Left]:
    """Things with our tags, by campaign and run."""
    found: defaultdict[tuple[str, str], _Left] = defaultdict(_Left)
    for operation, key, name in _OTHERS:
        for thing in items(api, "ec2", operation, region, key, Filters=tags.of_any_run()):
            told = tags.read(thing)
            if thing.get("State") == "deleting" or not tags.are_ours(told):
                continue
            left = found[told.get(tags.CAMPAIGN, ""), told.get(tags.RUN, "")]
            left.names.append(str(thing[name]))
            left.tags = told
            left.is_billed = left.is_billed or key == "Volumes"
            left.since = thing.get("CreateTime", left.since)
    return found


def _nobody(campaign: str, run: str, left: _Left, region: str, now: dt.datetime) -> Machine:
    """What is left of a run, as a machine that is none but can be released."""
    return Machine(
        id=f"{region}/{REMAINS}/{campaign}/{run}",
        driver=DRIVER,
        host_id=left.tags.get(tags.HOST, "remains"),
        is_local=False,
        address=None,
        price=None,
        campaign=campaign,
        run=run,
        acquired_at=left.since or now,
        expires=tags.expires_of(left.tags) or now,
    )


def _holder(told: dict[str, str]) -> str:
    return f"campaign {told.get(tags.CAMPAIGN, '?')!r} of {told.get(tags.BY, 'somebody')}"

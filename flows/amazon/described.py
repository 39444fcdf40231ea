"""An instance as a machine of ours: price, address, how it is entered, what was seen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from catalog.schema.cloud import Aws
from deploy_templates.first_boot import HEARTBEAT
from flows.amazon.acquiring import Acquisition, Got
from flows.amazon.inventory import DRIVER
from flows.amazon.prices import price_at_launch
from flows.clouds.protocol import Login, Machine


def machine_of(work: Acquisition, got: Got, now: dt.datetime) -> Machine:
    """The machine that an acquisition got, at the price of this moment."""
    order = work.order
    price = price_at_launch(
        work.api,
        region=work.region,
        zone=got.instance["Placement"]["AvailabilityZone"],
        instance_type=got.facts.name,
        market=work.choices.market,
        now=now,
        stated=order.price,
    )
    noted = _noted(work, got)
    noted["price_read_at"] = now.isoformat(timespec="seconds") if price is not None else ""
    return Machine(
        id=f"{work.region}/{got.instance['InstanceId']}",
        driver=DRIVER,
        host_id=order.host_id,
        is_local=False,
        address=address_of(got.instance, work.choices),
        price=price,
        campaign=order.campaign,
        run=order.run,
        acquired_at=now,
        expires=order.expires,
        noted={name: value for name, value in noted.items() if value},
        login=Login(
            user=got.image.user, key=work.login_key, host_keys=(work.host_pair.public,)
        ),
    )


def address_of(instance: Mapping[str, Any], choices: Aws) -> str | None:
    """Where the caller reaches the instance; None while it has no such address."""
    name = "PrivateIpAddress" if choices.address == "private" else "PublicIpAddress"
    return instance.get(name) or None


def _account(instance: Mapping[str, Any]) -> str:
    """The account whose the machine is: another's credentials see nothing of it."""
    owners = (each.get("OwnerId") for each in instance.get("NetworkInterfaces", ()))
    return str(next(filter(None, owners), ""))


def _noted(work: Acquisition, got: Got) -> dict[str, str]:
    """What was seen when the machine was got, for the report and for whoever enters it."""
    instance, image = got.instance, got.image
    launched: dt.datetime | None = instance.get("LaunchTime")
    is_pinned = instance["ImageId"] == image.id
    return {
        "instance_type": got.facts.name,
        "account": _account(instance),
        "region": work.region,
        "zone": instance["Placement"]["AvailabilityZone"],
        "market": work.choices.market,
        "capacity_reservation": work.choices.capacity_reservation or "",
        "image": instance["ImageId"],
        "image_name": image.name if is_pinned else "",
        "image_parameter": (image.parameter or "") if is_pinned else "",
        "architecture": got.facts.architecture,
        "launched_at": "" if launched is None else launched.isoformat(timespec="seconds"),
        "heartbeat": f"sudo {HEARTBEAT} SECONDS {int(work.order.expires.timestamp())}",
        "adopted": "from an earlier try" if got.is_adopted else "",
    }

"""The one request that costs money, and the token by which AWS never grants it twice."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from catalog.quantity import Quantity
from catalog.schema.cloud import Aws
from flows.amazon import tags
from flows.amazon.images import Image
from flows.clouds.protocol import Order

_GIB: Final = 2**30
_SPARE_GIB: Final = 30  # engine, logs, records and swap beside the model
_LEAST_GIB: Final = 100
_MARKETS: Final[dict[str, dict[str, Any]]] = {
    "spot": {
        "MarketType": "spot",
        "SpotOptions": {
            "SpotInstanceType": "one-time",
            "InstanceInterruptionBehavior": "terminate",
        },
    },
    "capacity-block": {"MarketType": "capacity-block"},
}
_TAGGED: Final = ("instance", "volume", "network-interface")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an attempt is made: a zone, and the subnet in it where one was stated."""

    zone: str
    subnet: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A machine as it is asked for, apart from its place."""

    instance_type: str
    image: Image
    key_name: str
    groups: tuple[str, ...]
    user_data: str
    tags: Mapping[str, str]
    volume_gib: int
    choices: Aws


def client_token(order: Order, place: Place, attempt: int, home: str) -> str:
    """64 digits that are the same for the same attempt, and differ for every other.

    ``home`` is whose attempt it is: a schedule may start a run of one name on two machines in
    the same second, and the one must not be given what the other got.
    """
    asked = (order.campaign, order.run, order.host_id, order.number, attempt, home)
    words = "\n".join(map(str, (*asked, place.zone, place.subnet)))
    return hashlib.sha256(words.encode()).hexdigest()


def volume_gib(image: Image, disk_bytes: int | None, stated: Quantity | None) -> int:
    """GiB of the root volume: as stated, else the image, the model, and room for the rest."""
    if stated is not None:
        return max(image.root_gib, math.ceil(stated.value / _GIB))
    model = 0 if disk_bytes is None else math.ceil(disk_bytes / _GIB)
    return max(_LEAST_GIB, image.root_gib + model + _SPARE_GIB)


def run_instances(wish: Wish, place: Place, token: str) -> dict[str, Any]:
    """The request for one machine in one place."""
    choices = wish.choices
    kinds = (*_TAGGED, "spot-instances-request") if choices.market == "spot" else _TAGGED
    request: dict[str, Any] = {
        "ClientToken": token,
        "MinCount": 1,
        "MaxCount": 1,
        "ImageId": wish.image.id,
        "InstanceType": wish.instance_type,
        "KeyName": wish.key_name,
        "UserData": wish.user_data,
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpTokens": "required",
            "HttpEndpoint": "enabled",
            "HttpPutResponseHopLimit": 1,
        },
        "BlockDeviceMappings": [_volume(wish)],
        "TagSpecifications": tags.specifications(kinds, wish.tags),
        **_network(wish, place),
    }
    request |= profile_of(choices)
    if choices.market != "on-demand":
        request["InstanceMarketOptions"] = _MARKETS[choices.market]
    if choices.capacity_reservation is not None:
        request["CapacityReservationSpecification"] = {
            "CapacityReservationTarget": {"CapacityReservationId": choices.capacity_reservation}
        }
    return request


def profile_of(choices: Aws) -> dict[str, Any]:
    """The stated instance profile, by name or ARN; nothing where there is none."""
    if choices.instance_profile is None:
        return {}
    key = "Arn" if choices.instance_profile.startswith("arn:") else "Name"
    return {"IamInstanceProfile": {key: choices.instance_profile}}


def _volume(wish: Wish) -> dict[str, Any]:
    volume: dict[str, Any] = {
        "VolumeType": "gp3",
        "VolumeSize": wish.volume_gib,
        "Encrypted": True,
        "DeleteOnTermination": True,
    }
    if wish.choices.kms_key is not None:
        volume["KmsKeyId"] = wish.choices.kms_key
    if wish.choices.disk_throughput is not None:
        volume["Throughput"] = wish.choices.disk_throughput
    return {"DeviceName": wish.image.root_device, "Ebs": volume}


def _network(wish: Wish, place: Place) -> dict[str, Any]:
    """In the default network the zone suffices; a stated subnet decides for itself."""
    if place.subnet is None:
        return {
            "Placement": {"AvailabilityZone": place.zone},
            "SecurityGroupIds": list(wish.groups),
        }
    return {
        "NetworkInterfaces": [
            {
                "DeviceIndex": 0,
                "SubnetId": place.subnet,
                "Groups": list(wish.groups),
                "AssociatePublicIpAddress": wish.choices.address == "public",
                "DeleteOnTermination": True,
            }
        ]
    }

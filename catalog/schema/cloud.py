"""What a campaign says of a cloud on which machines are rented for it."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from catalog.schema.fields import Bytes, Duration, Strict, Whole

Market = Literal["on-demand", "spot", "capacity-block"]

_LEAST_PREFIX: Final = {4: 16, 6: 48}  # a company's own range at most, never the internet
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
_OURS: Final = "runoff:"
_RESERVED: Final = "aws:"
_MOST_TAGS: Final = 40  # AWS allows 50 on a resource


class Aws(Strict):
    """Where and how machines are rented from AWS; what is not stated, runoff makes itself.

    ``caller`` is who may reach port 22: an address or a range, or an https address that
    answers with the caller's. Stated ``subnets``, ``security_groups``, ``key_name``, ``image``
    are used as they are and never changed or removed.
    """

    region: str | None = None
    zones: tuple[str, ...] = ()
    market: Market = "on-demand"
    capacity_reservation: str | None = Field(default=None, pattern=r"^cr-[0-9a-f]+$")
    image: str | None = None
    user: str | None = None
    caller: str | None = None
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    key_name: str | None = None
    key_file: str | None = None
    instance_profile: str | None = None
    kms_key: str | None = None
    address: Literal["public", "private"] = "public"
    disk: Bytes | None = None
    disk_throughput: Whole | None = Field(default=None, ge=125, le=2000)
    proxy: str | None = None
    tags: dict[str, str] = Field(default_factory=dict)
    patience: Duration | None = None

    @field_validator("region")
    @classmethod
    def _a_region(cls, value: str | None) -> str | None:
        if value is not None and not _REGION.fullmatch(value):
            raise ValueError(f"{value!r} is no region; write one such as us-east-1")
        return value

    @field_validator("caller")
    @classmethod
    def _only_the_caller(cls, value: str | None) -> str | None:
        if value is None or value.startswith("https://"):
            return value
        try:
            network = ipaddress.ip_network(value)
        except ValueError:
            raise ValueError(
                f"{value!r} is no address; write 203.0.113.7, a range, or an https address "
                "that answers with the caller's"
            ) from None
        if network.prefixlen < _LEAST_PREFIX[network.version]:
            raise ValueError(
                f"{value!r} admits too many; state the caller's own address or range"
            )
        return str(network)

    @field_validator("proxy")
    @classmethod
    def _no_password(cls, value: str | None) -> str | None:
        if value is None:
            return value
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{value!r} is no proxy; write http://proxy.example:3128")
        if parts.username is not None or not value.isprintable() or " " in value:
            raise ValueError(
                "a proxy's password would be readable on the machine; admit it by its address"
            )
        return value

    @field_validator("tags")
    @classmethod
    def _tags_of_their_own(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if name.lower().startswith((_OURS, _RESERVED)):
                raise ValueError(f"tag {name!r} is taken; choose another name")
        if len(value) > _MOST_TAGS:
            raise ValueError(f"{len(value)} tags are too many; state at most {_MOST_TAGS}")
        return value

    @model_validator(mode="after")
    def _key_with_its_file(self) -> Aws:
        if (self.key_name is None) != (self.key_file is None):
            raise ValueError("key_name and key_file go together; state both, or neither")
        if self.capacity_reservation is not None and self.market == "spot":
            raise ValueError("a capacity reservation is not sold as spot; drop one")
        if self.market == "capacity-block" and self.capacity_reservation is None:
            raise ValueError("a capacity block is bought beforehand; state it: cr-…")
        if self.capacity_reservation is not None and 1 not in {
            len(self.zones),
            len(self.subnets),
        }:
            raise ValueError("a capacity reservation is in one zone; state it under zones")
        return self

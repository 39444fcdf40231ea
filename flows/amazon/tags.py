"""Tags: by them everything that we made is found again, from anywhere."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from flows.clouds.protocol import Order

CAMPAIGN: Final = "runoff:campaign"
RUN: Final = "runoff:run"
EXPIRES: Final = "runoff:expires"
HOST: Final = "runoff:host"
BY: Final = "runoff:by"

_UNFIT = re.compile(r"[^\w .:/=+@-]+")
_MOST: Final = 256
_DIGITS: Final = 8


def tags_of(order: Order, by: str, own: Mapping[str, str]) -> dict[str, str]:
    """Tags of all that is made for an order; the user's own beside ours."""
    ours = {
        CAMPAIGN: order.campaign,
        RUN: order.run,
        EXPIRES: order.expires.astimezone(dt.UTC).isoformat(timespec="seconds"),
        HOST: order.host_id,
        BY: by,
        "Name": f"runoff {order.campaign} {order.host_id}",
    }
    return {**own, **order.tags, **{name: fit(value) for name, value in ours.items()}}


def fit(value: str) -> str:
    """A tag's value as AWS takes it."""
    return short(_UNFIT.sub("-", value), _MOST)


def short(name: str, most: int) -> str:
    """A name of at most so many characters, still another for every other name."""
    if len(name) <= most:
        return name
    digits = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return f"{name[: most - _DIGITS - 1]}-{digits}"


def specifications(kinds: Iterable[str], tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """The same tags for each kind of thing that a call makes."""
    listed = [{"Key": name, "Value": value} for name, value in sorted(tags.items())]
    return [{"ResourceType": kind, "Tags": listed} for kind in kinds]


def read(thing: Mapping[str, Any]) -> dict[str, str]:
    """Tags of a thing as AWS lists it."""
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", ())}


def expires_of(told: Mapping[str, str]) -> dt.datetime | None:
    """When the tags say that it must be gone; None where they do not."""
    try:
        found = dt.datetime.fromisoformat(told.get(EXPIRES, ""))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def are_ours(told: Mapping[str, str]) -> bool:
    """Whether these are all tags of ours; who has only some of them is somebody else's."""
    return all(told.get(name) for name in (CAMPAIGN, RUN, HOST, BY)) and (
        expires_of(told) is not None
    )


def got_from(told: Mapping[str, str], home: str) -> bool:
    """Whether what bears the tags was made from a home of this id, and from no other."""
    return told.get(BY, "").rpartition("/")[2] == home


def of_run(campaign: str, run: str) -> list[dict[str, Any]]:
    """The filter that finds all that was made for a run."""
    return [
        {"Name": f"tag:{CAMPAIGN}", "Values": [fit(campaign)]},
        {"Name": f"tag:{RUN}", "Values": [fit(run)]},
    ]


def of_any_run() -> list[dict[str, Any]]:
    """The filter that finds all that was made for any run, beside what has that tag too."""
    return [{"Name": "tag-key", "Values": [RUN]}]

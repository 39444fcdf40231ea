"""One machine, and never two: found by its tags, else launched zone by zone under tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from flows.amazon import tags
from flows.amazon.api import Api, ApiError, filters, items
from flows.amazon.launch_request import Place, Wish, run_instances
from flows.amazon.moments import moments
from flows.amazon.refusals import kind_of
from flows.clouds.protocol import Order, Record
from flows.errors import InfrastructureError

COMING: Final = ["pending", "running"]
LIVING: Final = [*COMING, "stopping", "stopped"]
_MISMATCH: Final = "IdempotentParameterMismatch"
_LISTED_AFTER_S: Final = 20.0  # a new instance is not always listed at once


def instances(api: Api, region: str, wanted: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All instances that the filters let through."""
    for each in items(api, "ec2", "describe_instances", region, "Reservations", Filters=wanted):
        yield from each["Instances"]


def standing(api: Api, region: str, order: Order) -> list[dict[str, Any]]:
    """Instances of this order that are there or coming: of an earlier, interrupted try."""
    wanted = [
        *tags.of_run(order.campaign, order.run),
        {"Name": f"tag:{tags.HOST}", "Values": [order.host_id]},
        *filters(instance_state_name=COMING),
    ]
    found = instances(api, region, wanted)
    return [each for each in found if tags.are_ours(tags.read(each))]


def launched(
    api: Api,
    region: str,
    wish: Wish,
    places: Sequence[Place],
    *,
    token: Callable[[Place], str],
    asked: list[str],
    waits: Iterator[None],
    record: Record,
) -> dict[str, Any] | None:
    """The instance, from the first place that has room; None where its token is used up.

    A place that gives no answer is asked again with the same token before any other is: it
    may have granted the request. ``asked`` keeps the tokens of requests that were not refused.

    Raises
    ------
    InfrastructureError
        If no place had room as long as we waited.
    ApiError
        For every other refusal.
    """
    refused: dict[str, str] = {}
    here = 0
    for _ in waits:
        while here < len(places):
            place = places[here]
            asked.append(token(place))
            try:
                return _granted(api, region, run_instances(wish, place, asked[-1]))
            except ApiError as error:
                kind = kind_of(error)
                if kind != "busy":
                    asked.pop()
                if kind not in {"capacity", "busy"}:
                    raise
                refused[place.zone] = error.code
                record("no-capacity", zone=place.zone, code=error.code, seen=error.message)
                if kind == "busy":
                    break
            here += 1
        else:
            here = 0
    told = ", ".join(f"{zone}: {code}" for zone, code in refused.items())
    raise InfrastructureError(
        f"AWS {region}",
        f"no zone gave out {wish.instance_type} ({told})",
        "State other zones or another region, a capacity reservation, or more patience",
    )


def _granted(api: Api, region: str, request: dict[str, Any]) -> dict[str, Any] | None:
    token = request["ClientToken"]
    try:
        answer = api("ec2", "run_instances", region, **request)
    except ApiError as error:
        if error.code != _MISMATCH:
            raise
        return _by_token(api, region, token)  # an earlier try asked in other words, and got it
    instance: dict[str, Any] = answer["Instances"][0]
    return _by_token(api, region, token) if _is_over(instance) else instance


def _by_token(api: Api, region: str, token: str) -> dict[str, Any] | None:
    """The living instance that a token got; None where it is over."""
    for _ in moments(_LISTED_AFTER_S, first_s=0.5, most_s=4.0):
        found = list(instances(api, region, filters(client_token=token)))
        if found:
            return None if _is_over(found[0]) else found[0]
    return None


def _is_over(instance: dict[str, Any]) -> bool:
    return instance.get("State", {}).get("Name") in {"shutting-down", "terminated"}

"""What was made is removed: the machine first, for it costs most; then all that is left."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from flows.amazon import tags
from flows.amazon.api import Api, ApiError, filters, items
from flows.amazon.home import RunHome
from flows.amazon.launching import LIVING, instances
from flows.amazon.moments import moments
from flows.amazon.refusals import kind_of, still_billed
from flows.errors import StillBilled

NEW: Final = dt.timedelta(minutes=10)  # so young a machine may not be listed everywhere yet
_ENDING: Final = ("shutting-down", "terminated")
_TRIES_S: Final = 60.0  # also the patience with a new one that is not listed yet
_OLD_S: Final = 3.0  # one that is long over is not asked for longer
_END_S: Final = 300.0
_GROUP_S: Final = 60.0
_UNLISTED: Final = "not listed"


def terminate(api: Api, region: str, instance: str, *, is_new: bool = True) -> bool:
    """End an instance and see it end, in bounded time; whether AWS knew it.

    What ended by itself is known for about an hour, then no more: an older one that AWS does
    not know has ended, if it is of this account. One that ``is_new`` and not known may only
    not be listed yet, and is never taken for gone.

    Raises
    ------
    StillBilled
        If nobody confirms that it ends.
    """
    try:
        _ask_to_end(api, region, instance, _TRIES_S if is_new else _OLD_S)
        state = _seen_ending(api, region, instance, is_new=is_new)
    except ApiError as error:
        if kind_of(error) == "gone" and not is_new:
            return False
        raise still_billed(instance, error) from None
    if state not in _ENDING:
        raise StillBilled(
            f"AWS {region}",
            f"{instance} is still {state} after it was told to end",
            "Look at the console; then: runoff machines --release",
        )
    return True


def _ask_to_end(api: Api, region: str, instance: str, unlisted_s: float) -> None:
    """Ask until it is heard; one that is not known is asked for as long as ``unlisted_s``."""
    new_until = time.monotonic() + unlisted_s
    last: ApiError | None = None
    for _ in moments(_TRIES_S, first_s=0.5, most_s=8.0):
        try:
            api("ec2", "terminate_instances", region, InstanceIds=[instance])
        except ApiError as error:
            kind, last = kind_of(error), error
            if kind not in {"busy", "gone"}:
                raise
            if kind == "gone" and time.monotonic() >= new_until:
                raise
        else:
            return
    if last is not None:
        raise last


def _seen_ending(api: Api, region: str, instance: str, *, is_new: bool) -> str:
    """The last state that was seen; an instance that ends is no longer billed."""
    state = "unknown"
    new_until = time.monotonic() + _TRIES_S
    for _ in moments(_END_S, first_s=0.2, most_s=5.0):
        try:
            state = _state_of(api, region, instance)
        except ApiError as error:
            if kind_of(error) != "busy":
                raise
        if state == _UNLISTED and not is_new:
            return "terminated"
        if state == "terminated" or (state == _UNLISTED and time.monotonic() >= new_until):
            break
    return state


def _state_of(api: Api, region: str, instance: str) -> str:
    """The instance's state in AWS's words."""
    try:
        answer = api("ec2", "describe_instances", region, InstanceIds=[instance])
    except ApiError as error:
        if kind_of(error) == "gone":
            return _UNLISTED
        raise
    found = [each for held in answer["Reservations"] for each in held["Instances"]]
    return str(found[0]["State"]["Name"]) if found else _UNLISTED


def clear(
    api: Api, region: str, campaign: str, run: str, home: RunHome | None, *, of: str | None
) -> tuple[str, ...]:
    """Remove what a run left beside its machines; what costs nothing and would not go.

    ``of`` is the home from which it was made; None: any. A run of the same name that was
    begun elsewhere keeps what is its own.

    Keys and groups stay as long as another machine of the run lives, or is on its way: then
    ``home`` is None.

    Raises
    ------
    StillBilled
        If a volume may still cost money.
    """
    own = tags.of_run(campaign, run)
    try:
        living = list(living_of(api, region, campaign, run, of=of))
        _volumes(api, region, own, of)
    except ApiError as error:
        raise still_billed(f"a volume of run {run}", error) from None
    if living or home is None:
        return ()
    left = (*_interfaces(api, region, own, of), *_keys(api, region, own, of))
    left = (*left, *_groups(api, region, own, of))
    if not left:
        home.forget()
    return left


def living_of(
    api: Api, region: str, campaign: str, run: str, *, of: str | None
) -> Iterator[dict[str, Any]]:
    """Instances of a run that are not over; ``of`` as in ``clear``."""
    wanted = [*tags.of_run(campaign, run), *filters(instance_state_name=LIVING)]
    return (each for each in instances(api, region, wanted) if _is_of(each, of))


def _is_of(thing: Mapping[str, Any], home: str | None) -> bool:
    told = tags.read(thing)
    return tags.are_ours(told) and (home is None or tags.got_from(told, home))


def _volumes(api: Api, region: str, own: list[dict[str, Any]], of: str | None) -> None:
    wanted = [*own, *filters(status="available")]
    for volume in list(
        items(api, "ec2", "describe_volumes", region, "Volumes", Filters=wanted)
    ):
        if _is_of(volume, of):
            _gone(api, region, "delete_volume", VolumeId=volume["VolumeId"])


def _interfaces(
    api: Api, region: str, own: list[dict[str, Any]], of: str | None
) -> Iterator[str]:
    wanted = [*own, *filters(status="available")]
    for each in _listed(
        api, region, "describe_network_interfaces", "NetworkInterfaces", wanted, of=of
    ):
        if isinstance(each, str):
            yield each
            continue
        name = each["NetworkInterfaceId"]
        yield from _tried(
            api, region, "delete_network_interface", name, NetworkInterfaceId=name
        )


def _keys(api: Api, region: str, own: list[dict[str, Any]], of: str | None) -> Iterator[str]:
    for each in _listed(api, region, "describe_key_pairs", "KeyPairs", own, of=of):
        if isinstance(each, str):
            yield each
            continue
        name = each["KeyName"]
        yield from _tried(api, region, "delete_key_pair", name, KeyName=name)


def _groups(api: Api, region: str, own: list[dict[str, Any]], of: str | None) -> Iterator[str]:
    """A group goes when the last interface in it has gone, some time after its machine."""
    for each in _listed(api, region, "describe_security_groups", "SecurityGroups", own, of=of):
        if isinstance(each, str):
            yield each
            continue
        left: list[str] = []
        for _ in moments(_GROUP_S, first_s=0.5, most_s=8.0):
            group = each["GroupId"]
            left = list(_tried(api, region, "delete_security_group", group, GroupId=group))
            if not any("DependencyViolation" in reason for reason in left):
                break
        yield from left


def _listed(
    api: Api,
    region: str,
    operation: str,
    key: str,
    wanted: list[dict[str, Any]],
    *,
    of: str | None,
) -> list[dict[str, Any]] | list[str]:
    """What is there; or, as a word, why that cannot be seen."""
    try:
        found = items(api, "ec2", operation, region, key, Filters=wanted)
        return [each for each in found if _is_of(each, of)]
    except ApiError as error:
        return [f"{key}: {error.code}"]


def _tried(api: Api, region: str, operation: str, name: str, **request: str) -> Iterator[str]:
    try:
        _gone(api, region, operation, **request)
    except ApiError as error:
        yield f"{name}: {error.code}"


def _gone(api: Api, region: str, operation: str, **request: str) -> None:
    try:
        api("ec2", operation, region, **request)
    except ApiError as error:
        if kind_of(error) != "gone":
            raise

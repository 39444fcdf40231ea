"""EC2 as a cloud of runoff: one machine per order, found again and removed whatever happens."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from catalog.errors import CatalogError
from catalog.load import load_catalog
from catalog.schema.cloud import Aws
from flows.amazon import inventory, removal, tags
from flows.amazon.acquiring import PREFIX, Acquisition
from flows.amazon.api import NO_ANSWER, Api, ApiError
from flows.amazon.described import address_of, machine_of
from flows.amazon.home import Home, RunHome
from flows.amazon.images import type_facts
from flows.amazon.launching import standing
from flows.amazon.moments import moments
from flows.amazon.quotas import allowed_vcpus, quota_of, said_of
from flows.amazon.refusals import explained, kind_of, still_billed
from flows.clouds.protocol import (
    ACQUIRED,
    ACQUIRING,
    NOT_ACQUIRED,
    NOT_RELEASED,
    READY,
    RELEASED,
    RELEASING,
    Machine,
    Offering,
    Order,
    Owned,
    PartlyListedError,
    Record,
    Site,
)
from flows.errors import InfrastructureError, StillBilled, UsageError

REGIONS: Final = "RUNOFF_AWS_REGIONS"
_REGION_NAMES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_READY_S: Final = 900.0
_LISTED_S: Final = 20.0  # a new instance is not always listed at once
_OVER: Final = ("shutting-down", "terminated", "stopping", "stopped")
_SPOT: Final = "spot"
_PERHAPS_NOT_ENABLED: Final = (
    "AuthFailure",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amazon:
    """Rents machines for orders of offers ``aws/…``.

    ``ask`` gets the text of an https address: who we are, as others see us.
    """

    site: Site
    api: Api
    ask: Callable[[str], str]
    name: str = inventory.DRIVER

    def offers(self) -> tuple[Offering, ...]:
        """The catalog's offers of this cloud, at the catalog's prices."""
        found = load_catalog(()).offers
        return tuple(
            Offering(
                name=name, title=f"{name} in {found[name].region}", price=found[name].price
            )
            for name in found
            if name.startswith(PREFIX)
        )

    def acquire(self, order: Order, record: Record) -> Machine:
        """A machine as ordered, started and priced; everything is removed where that fails."""
        region = self.region_of(order.offer or "")
        work = self._acquisition(order, region)
        record(ACQUIRING, region=region, **order.to_json())
        try:
            self.home.remember(region)
            work.home.hold(order.host_id)
            machine = machine_of(work, work.instance(record), self.site.now())
        except BaseException as error:
            told = self._told(error, work)
            self._undo(work, told)
            record(NOT_ACQUIRED, host_id=order.host_id, seen=str(told))
            if told is error:
                raise
            raise told from None
        try:
            record(ACQUIRED, machine=machine.to_json())
        except BaseException:
            self._remove(machine)
            raise
        return machine

    def ready(self, machine: Machine, record: Record) -> Machine:
        """The same machine when it runs and has an address; SSH may still be coming up."""
        region, instance = _parts(machine)
        tell = partial(self.site.waiting, f"{machine.host_id}: waiting for {instance}")
        for _ in moments(_READY_S, first_s=0.5, most_s=5.0, tell=tell):
            found = self._described(machine)
            state, address = _state(found), address_of(found, self.choices)
            if state == "running" and address is not None:
                up = replace(machine, address=address)
                record(READY, machine=up.to_json())
                return up
            if state in _OVER:
                break
        raise InfrastructureError(
            f"AWS {region}",
            f"{instance} did not come up: {self.fate(machine)}",
            "See what AWS says of it, or try another zone",
        )

    def release(self, machine: Machine, record: Record) -> None:
        """End the machine first, then remove all that is left of its run.

        Raises
        ------
        StillBilled
            If the end was not confirmed.
        """
        try:
            record(RELEASING, id=machine.id)
        finally:
            left = self._released(machine, record)
        record(RELEASED, id=machine.id, **({"left": list(left)} if left else {}))

    def list_owned(self) -> tuple[Owned, ...]:
        """All that bears our tags, in every region that is known of."""
        found: list[Owned] = []
        refused: list[ApiError] = []
        known = {each.id: each for each in self.site.known}
        for region in self.regions():
            try:
                found += inventory.owned_in(self.api, region, self.home, self.site.now(), known)
            except ApiError as error:
                refused.append(error)
                if error.code == NO_ANSWER or _is_of_all_regions(error):
                    break  # no other region would tell more
        if refused:
            told = explained(refused[0])
            raise PartlyListedError(told.where, told.seen, told.do, owned=found)
        return tuple(found)

    def fate(self, machine: Machine) -> str:
        """What became of a machine, with AWS's reason: ``terminated (Server.Spot…)``."""
        found = self._described(machine)
        told = found.get("StateReason", {}).get("Message")
        reason = told or found.get("StateTransitionReason")
        state = _state(found) or "not listed"
        return f"{state} ({reason})" if reason else state

    def console(self, machine: Machine) -> str:
        """What the machine printed while it started, for a machine that SSH never reached.

        Empty where AWS has nothing yet, or does not let us see it.
        """
        region, instance = _parts(machine)
        try:
            answer = self.api("ec2", "get_console_output", region, InstanceId=instance)
        except ApiError:
            return ""
        return str(answer.get("Output", ""))

    def regions(self) -> tuple[str, ...]:
        """Regions in which something of ours may be."""
        told = self.site.environment
        named = told.get(REGIONS, "").replace(",", " ").split()
        named += [told.get(name, "") for name in _REGION_NAMES]
        named += [self.choices.region or "", self.api.region() or "", *self.home.regions()]
        named += [_parts(each)[0] for each in self.site.known if each.driver == self.name]
        return tuple(sorted({region for region in named if region})) or self._offered()

    def _offered(self) -> tuple[str, ...]:
        """Regions of the catalog's offers: where a campaign rents if nobody says otherwise."""
        found = load_catalog(()).offers
        return tuple(sorted({found[name].region for name in found if name.startswith(PREFIX)}))

    def region_of(self, offer: str) -> str:
        """The region of the file, of the environment, of the offer, in this order.

        Raises
        ------
        UsageError
            If nobody says.
        """
        told = (self.site.environment.get(name) for name in _REGION_NAMES)
        region = self.choices.region or next(filter(None, told), None) or _offered_in(offer)
        region = region or self.api.region()
        if region is None:
            raise UsageError(
                f"offer {offer!r}", "nobody says in which region", "State aws.region"
            )
        return region

    @property
    def home(self) -> Home:
        """What is kept at home."""
        return Home(self.site.state / self.name)

    @property
    def choices(self) -> Aws:
        """What the campaign's file says of AWS."""
        return self.site.campaign.aws if self.site.campaign is not None else Aws()

    def _acquisition(self, order: Order, region: str) -> Acquisition:
        told = self.site.environment
        user = told.get("USER") or told.get("LOGNAME") or "somebody"
        return Acquisition(
            api=self.api,
            order=order,
            region=region,
            choices=self.choices,
            home=self.home.run(order.campaign, order.run, region),
            by=f"{user}@{platform.node()}/{self.home.id}",
            ask=self.ask,
            waiting=self.site.waiting,
        )

    def _described(self, machine: Machine) -> dict[str, Any]:
        region, instance = _parts(machine)
        try:
            answer = self.api("ec2", "describe_instances", region, InstanceIds=[instance])
        except ApiError as error:
            if kind_of(error) in {"busy", "gone"}:
                return {}
            raise explained(error) from None
        held = [each for group in answer["Reservations"] for each in group["Instances"]]
        return held[0] if held else {}

    def _released(self, machine: Machine, record: Record) -> tuple[str, ...]:
        try:
            return self._remove(machine)
        except StillBilled as error:
            record(NOT_RELEASED, id=machine.id, seen=error.seen)
            raise

    def _remove(self, machine: Machine) -> tuple[str, ...]:
        region, what = _parts(machine)
        home = self.home.run(machine.campaign, machine.run, region)
        is_machine = not what.startswith(f"{inventory.REMAINS}/")
        of = self.home.id if is_machine and home.path.is_dir() else None
        if is_machine:
            is_new = self.site.now() - machine.acquired_at < removal.NEW
            if not removal.terminate(self.api, region, what, is_new=is_new):
                self._require_account_of(machine)
            with suppress(
                OSError
            ):  # AWS remembers the attempt too; a full disk holds nothing up
                home.next_attempt(machine.host_id)
        is_last = home.leave(machine.host_id)
        if is_last and home.is_held_here:
            self._end_others(machine, region, home)
        kept = home if is_last else None
        return removal.clear(self.api, region, machine.campaign, machine.run, kept, of=of)

    def _require_account_of(self, machine: Machine) -> None:
        """Return if a machine that AWS does not know was got in the account that is asked.

        Another one's credentials show nothing of it, and it is billed there all the same.
        """
        region, instance = _parts(machine)
        account = machine.noted.get("account")
        if account is None:
            return
        try:
            seen = str(self.api("sts", "get_caller_identity", region)["Account"])
        except ApiError as error:
            raise still_billed(instance, error) from None
        if seen != account:
            raise StillBilled(
                f"AWS {region}",
                f"{instance} was got in account {account}, and these credentials are of {seen}",
                "Use that account's; then: runoff machines --release",
            )

    def _end_others(self, machine: Machine, region: str, home: RunHome) -> None:
        """End what an earlier try of the run got, and nobody of this process ever wanted."""
        try:
            others = list(
                removal.living_of(
                    self.api, region, machine.campaign, machine.run, of=self.home.id
                )
            )
        except ApiError as error:
            raise still_billed(f"a machine of run {machine.run}", error) from None
        for each in others:
            if home.wants(tags.read(each)[tags.HOST]):
                continue  # a host that is just being rented
            removal.terminate(self.api, region, each["InstanceId"])

    def _undo(self, work: Acquisition, why: BaseException) -> None:
        """Remove what an acquisition that failed has made so far."""
        order, region = work.order, work.region
        try:
            for _ in moments(_LISTED_S if work.asked else 0.0, first_s=0.5, most_s=2.0):
                found, unheard = self._got(work)
                for instance in found:
                    removal.terminate(self.api, region, instance["InstanceId"])
                if found:
                    break
            if unheard is not None:
                raise unheard
            work.home.next_attempt(order.host_id)
            home = work.home if work.home.leave(order.host_id) else None
            of = self.home.id
            removal.clear(self.api, region, order.campaign, order.run, home, of=of)
        except (ApiError, StillBilled) as error:
            if not work.asked:
                return  # no machine was asked for; what else there is costs nothing
            if isinstance(error, StillBilled):
                raise
            raise still_billed(f"a machine for {order.host_id}", error) from why

    def _got(self, work: Acquisition) -> tuple[list[dict[str, Any]], ApiError | None]:
        """What an acquisition has got by now; or that AWS is too busy to say."""
        try:
            there = standing(self.api, work.region, work.order)
        except ApiError as error:
            if kind_of(error) != "busy":
                raise
            return [], error
        return [each for each in there if work.got_here(each)], None

    def _told(self, error: BaseException, work: Acquisition) -> BaseException:
        """The error as a user can act on it; a quota by its name and what it allows."""
        if not isinstance(error, ApiError):
            return error
        if kind_of(error) != "quota":
            return explained(error)
        quota = quota_of(work.instance_type, is_spot=self.choices.market == _SPOT)
        allowed = allowed_vcpus(self.api, work.region, quota)
        return explained(error, note=said_of(quota, allowed, _vcpus(work)))


def _is_of_all_regions(error: ApiError) -> bool:
    """Whether the credentials are of no use anywhere.

    A region that is not enabled for the account refuses good ones too.
    """
    return kind_of(error) == "credentials" and error.code not in _PERHAPS_NOT_ENABLED


def _parts(machine: Machine) -> tuple[str, str]:
    region, _, what = machine.id.partition("/")
    return region, what


def _state(instance: Mapping[str, Any]) -> str | None:
    state: str | None = instance.get("State", {}).get("Name")
    return state


def _offered_in(offer: str) -> str | None:
    try:
        return load_catalog(()).offer(offer).region
    except CatalogError:
        return None


def _vcpus(work: Acquisition) -> int | None:
    try:
        return type_facts(work.api, work.region, work.instance_type).vcpus
    except ApiError:
        return None

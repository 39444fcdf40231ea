"""From an order to an instance: an earlier try's, or a new one with its key and its group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from catalog.schema.cloud import Aws
from deploy_templates.first_boot import first_boot
from flows.amazon import removal, tags
from flows.amazon.api import Api, ApiError
from flows.amazon.home import Pair, RunHome
from flows.amazon.images import Image, TypeFacts, resolve_image, type_facts
from flows.amazon.launch_request import Place, Wish, client_token, volume_gib
from flows.amazon.launching import launched, standing
from flows.amazon.moments import moments
from flows.amazon.network import (
    caller_range,
    group_for_caller,
    network_of,
    places,
    require_of_run,
)
from flows.clouds.protocol import Order, Record
from flows.errors import InfrastructureError

PREFIX: Final = "aws/"
_PATIENCE_S: Final = 600.0
_ATTEMPTS: Final = 5
_KEY: Final = "key"
_NAME: Final = 255  # the most that a key pair or a group may be called


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """An instance with what was known when it was got."""

    instance: Mapping[str, Any]
    image: Image
    facts: TypeFacts
    is_adopted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquisition:
    """One order on its way to a machine.

    ``by`` says who rents; ``ask`` gets the text of an https address; ``waiting`` hears why it
    takes time, and what it raises ends the wait. ``asked`` are tokens and ids of
    machines that may be ours by now.
    """

    api: Api
    order: Order
    region: str
    choices: Aws
    home: RunHome
    by: str
    ask: Callable[[str], str]
    waiting: Callable[[str], None]
    asked: list[str] = field(default_factory=list)

    @property
    def instance_type(self) -> str:
        """What is rented, in AWS's word."""
        return (self.order.offer or "").removeprefix(PREFIX)

    @property
    def host_pair(self) -> Pair:
        """The key pair by which the machine proves itself."""
        return self.home.pair(self._host_name)

    @property
    def login_key(self) -> str:
        """The file of the private key that opens the machine."""
        return self.choices.key_file or str(self.home.pair(_KEY).file)

    def instance(self, record: Record) -> Got:
        """The instance of an earlier try that can be entered from here, or a new one.

        Raises
        ------
        InfrastructureError
            If no zone has room.
        ApiError
            For every other refusal.
        """
        facts = type_facts(self.api, self.region, self.instance_type)
        image = resolve_image(
            self.api, self.region, facts, self.choices.image, self.choices.user
        )
        found = self._earlier() or self._new(image, facts, record)
        return Got(instance=found[0], image=image, facts=facts, is_adopted=found[1])

    @property
    def _host_name(self) -> str:
        return f"{self.order.host_id}.host"

    @property
    def _home_id(self) -> str:
        return self.by.rpartition("/")[2]

    @property
    def _name(self) -> str:
        """What key pair and group of the run are called."""
        return tags.short(f"runoff-{self.order.campaign}-{self.order.run}", _NAME)

    @property
    def _tags(self) -> dict[str, str]:
        return tags.tags_of(self.order, self.by, self.choices.tags)

    def _earlier(self) -> tuple[Mapping[str, Any], bool] | None:
        can_enter = self.choices.key_name is not None or self.home.has(_KEY)
        for instance in standing(self.api, self.region, self.order):
            self._require_ours(instance)
            if can_enter and self.home.has(self._host_name) and self._is_as_ordered(instance):
                if not self.choices.security_groups:
                    self._group()  # we may call from elsewhere now
                self._take_over(instance)
                return instance, True
            removal.terminate(self.api, self.region, instance["InstanceId"])
            self.home.next_attempt(self.order.host_id)
        return None

    def got_here(self, instance: Mapping[str, Any]) -> bool:
        """Whether a machine of this run was got by this user from here."""
        return tags.got_from(tags.read(instance), self._home_id)

    def _require_ours(self, instance: Mapping[str, Any]) -> None:
        """What bears our run's tags and was got elsewhere may be another's who lives."""
        if not self.got_here(instance):
            by = tags.read(instance)[tags.BY]
            raise InfrastructureError(
                f"AWS {self.region}",
                f"run {self.order.run!r} has {instance['InstanceId']} already, got by {by}",
                "Go on there; or, if nobody needs it: runoff machines --release --all",
            )

    def _is_as_ordered(self, instance: Mapping[str, Any]) -> bool:
        """Whether type and market are those of the order: the price depends on both."""
        market = instance.get("InstanceLifecycle", "on-demand")
        return (instance["InstanceType"], market) == (self.instance_type, self.choices.market)

    def _take_over(self, instance: Mapping[str, Any]) -> None:
        self.asked.append(instance["InstanceId"])
        made = self._tags
        self.api(
            "ec2",
            "create_tags",
            self.region,
            Resources=[instance["InstanceId"]],
            Tags=[{"Key": key, "Value": made[key]} for key in (tags.EXPIRES, tags.BY)],
        )

    def _new(
        self, image: Image, facts: TypeFacts, record: Record
    ) -> tuple[Mapping[str, Any], bool]:
        there = places(self.api, self.region, facts.name, self.choices)
        wish = self._wish(image, facts)
        for _ in range(_ATTEMPTS):
            found = launched(
                self.api,
                self.region,
                wish,
                there,
                token=self._token,
                asked=self.asked,
                waits=self._waits(),
                record=record,
            )
            if found is not None:
                if tags.read(found).get(tags.EXPIRES) != wish.tags[tags.EXPIRES]:
                    self._take_over(found)  # an earlier try got it, for another time
                return found, False
            self.home.next_attempt(self.order.host_id)
        raise InfrastructureError(
            f"AWS {self.region}", f"{_ATTEMPTS} machines in a row ended at once", "See why"
        )

    def _token(self, place: Place) -> str:
        attempt = self.home.attempt(self.order.host_id)
        return client_token(self.order, place, attempt, self._home_id)

    def _waits(self) -> Iterator[None]:
        stated = self.choices.patience
        return moments(
            _PATIENCE_S if stated is None else stated.value,
            first_s=2.0,
            most_s=30.0,
            tell=partial(self.waiting, f"waiting for capacity of {self.instance_type}"),
        )

    def _wish(self, image: Image, facts: TypeFacts) -> Wish:
        choices = self.choices
        groups = choices.security_groups or (self._group(),)
        host = self.host_pair
        return Wish(
            instance_type=facts.name,
            image=image,
            key_name=choices.key_name or self._imported_key(),
            groups=groups,
            user_data=first_boot(
                expires=self.order.expires,
                host_key=host.private,
                host_key_public=host.public,
                proxy=choices.proxy,
            ),
            tags=self._tags,
            volume_gib=volume_gib(image, self.order.disk_bytes, choices.disk),
            choices=choices,
        )

    def _group(self) -> str:
        caller = caller_range(self.choices.caller, self.ask)
        network = network_of(self.api, self.region, self.choices)
        return group_for_caller(
            self.api,
            self.region,
            network=network,
            name=self._name,
            caller=caller,
            made=self._tags,
            order=self.order,
            home=self._home_id,
        )

    def _imported_key(self) -> str:
        name = self._name
        request = {
            "KeyName": name,
            "PublicKeyMaterial": self.home.pair(_KEY).public.encode(),
            "TagSpecifications": tags.specifications(("key-pair",), self._tags),
        }
        try:
            self.api("ec2", "import_key_pair", self.region, **request)
        except ApiError as error:
            if error.code != "InvalidKeyPair.Duplicate":
                raise
            if not self._is_present(name):  # an earlier try's, made anew since
                self.api("ec2", "delete_key_pair", self.region, KeyName=name)
                self.api("ec2", "import_key_pair", self.region, **request)
        return name

    def _is_present(self, name: str) -> bool:
        """Whether AWS has the key that we have now; an error if that is none of this run's."""
        answer = self.api(
            "ec2", "describe_key_pairs", self.region, KeyNames=[name], IncludePublicKey=True
        )
        for each in answer["KeyPairs"]:
            what = f"key pair {name!r}"
            require_of_run(each, what, self.region, self.order, self._home_id)
        there = [str(each.get("PublicKey", "")).split()[:2] for each in answer["KeyPairs"]]
        return there == [self.home.pair(_KEY).public.split()[:2]]

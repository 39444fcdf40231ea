"""Machines of a campaign: got before the first launch, and given back whatever comes."""

from __future__ import annotations

import datetime as dt
import time
from functools import partial
from typing import Final

from catalog.quantity import Quantity
from flows.budget import totals
from flows.budget.steps import DOLLARS_PER_HOUR, host_of
from flows.clouds import cloud_of
from flows.clouds.protocol import Machine, Order, Site
from flows.clouds.ssh_hosts import NAME as SSH_HOSTS
from flows.errors import InfrastructureError, RunoffError, StillBilled
from flows.heartbeat import Heartbeat
from flows.hosts.here import LocalHost
from flows.hosts.host import CampaignHost
from flows.owned import KEPT
from flows.placing import candidates_of, load_host
from flows.setting_up import describe, hear, put_back
from flows.underway import Held, Underway, utc_now
from reports.run.plan_file import CandidateFacts

__all__ = ["acquire", "describe", "give_back", "load_host", "release"]

_SPOT: Final = "spot"
_SPARE: Final = dt.timedelta(hours=1)


def acquire(work: Underway, host: str) -> Machine | None:
    """The machine of that name, entered, and ours until it is released; None for a service.

    Raises
    ------
    RunoffError
        With who holds it, or why there is none.
    """
    if host in work.held:
        return work.held[host].machine
    own = candidates_of(work, host)
    if own and own[0].kind == "endpoint":
        return None
    stated = work.candidate(own[0].name) if own else None
    wanted = (stated.host, stated.offer) if stated is not None else (work.plan.load_from, None)
    driver = cloud_of(*wanted, f"host {host!r}").connect(site_of(work, host))
    order = Order(
        host=wanted[0],
        offer=wanted[1],
        campaign=work.plan.campaign,
        run=work.plan.run,
        expires=utc_now() + _time_needed(work),
        disk_bytes=sum(each.weight_bytes or 0 for each in own) or None,
        price=_price(own[0]) if own else None,
    )
    machine = driver.acquire(order, work.record)
    work.held[host] = held = Held(driver=driver, machine=machine)
    if own:
        costs, price = host_of(work.plan, host), machine.price
        usd = costs.usd_per_hour  # 0: its engines are simulated, whatever they would cost
        if usd != 0 and price is not None and price.unit == DOLLARS_PER_HOUR:
            usd = price.value
        work.spending.rent(host, usd, costs.billing, time.monotonic())
    held.machine = driver.ready(machine, work.record)
    held.host = _entered(work, host, held)
    held.facts = held.host.facts(host)
    return held.machine


def site_of(work: Underway, host: str | None = None) -> Site:
    """Where drivers are called from; a wait is told of the host, and ends with the campaign."""

    def waiting(why: str) -> None:
        work.interruption.check()
        for each in candidates_of(work, host) if host is not None else ():
            work.progress.detail(each.name, why)

    return Site(
        environment=work.around.environment,
        state=work.around.state,
        now=utc_now,
        campaign=work.campaign,
        waiting=waiting,
    )


def release(work: Underway) -> None:
    """Give all machines back; each is tried, whatever becomes of the others.

    Raises
    ------
    StillBilled
        If one of them may still cost money.
    """
    errors: list[RunoffError] = []
    unforeseen: Exception | None = None
    for host in tuple(work.held):
        try:
            give_back(work, host)
        except RunoffError as error:
            errors.append(error)
        except Exception as error:  # noqa: BLE001 - the next machine must be tried all the same
            unforeseen = error
    work.record_spent()
    if errors:
        seen = "; ".join(str(error) for error in errors)
        raise StillBilled("release", seen, "Look at runoff machines, and release them")
    if unforeseen is not None:
        raise unforeseen


def give_back(work: Underway, host: str) -> None:
    """Put the machine's settings back and give it back; nothing where it is not ours.

    Raises
    ------
    RunoffError
        If it would not go.
    """
    held = work.held.get(host)
    if held is None:
        return
    try:
        put_back(work, host)
    finally:  # a machine goes back whatever became of its settings
        _let_go(work, host, held)


def _let_go(work: Underway, host: str, held: Held) -> None:
    for thread in (held.heartbeat, held.notices):
        if thread is not None:
            thread.end()
    kept = ""
    try:
        kept = _kept(work, held)
        if held.host is not None:
            held.host.close()
    finally:  # a connection that does not end well keeps no machine
        if not kept:
            held.driver.release(held.machine, work.record)
        del work.held[host]
        work.spending.give_back(host, time.monotonic())
    if kept:
        raise StillBilled(f"host {host!r}", f"{held.machine.id} is kept for a look: {kept}", "")


def give_back_early(work: Underway, host: str) -> None:
    """Give a rented machine back as soon as it has nothing more to do; others stay to the end.

    One that would not go is tried again at the end of the campaign.
    """
    try:
        give_back(work, host)
    except StillBilled as error:
        if host not in work.held:  # it is kept on purpose
            work.still_billed = error
    except RunoffError as error:
        work.progress.said(f"note: {error}")


def what_became(work: Underway, host: str) -> str:
    """What its cloud says became of a machine that does not answer; empty: nothing."""
    held = work.held.get(host)
    fate = getattr(held.driver, "fate", None) if held is not None else None
    if held is None or fate is None:
        return ""
    try:
        return str(fate(held.machine))
    except RunoffError:
        return ""


def is_rented(work: Underway, host: str) -> bool:
    """Whether the machine is ours, and costs us money for as long as it is."""
    held = work.held.get(host)
    return held is not None and _costs(held)


def _costs(held: Held) -> bool:
    return not held.machine.is_local and held.machine.driver != SSH_HOSTS


def _kept(work: Underway, held: Held) -> str:
    """Until when, and how it is entered, where a machine of a failed launch is to be kept."""
    seconds, beat = work.around.keep_on_failure_s, held.heartbeat
    if not seconds or not held.has_failed or beat is None or not _costs(held):
        return ""
    if beat.beat(round(seconds)) is not None:
        return ""  # it would not end by itself
    until = min(held.machine.expires, utc_now() + dt.timedelta(seconds=seconds))
    login = held.machine.login
    way = "" if login is None else f"ssh -i {login.key} {login.user}@{held.machine.address}"
    work.record(KEPT, id=held.machine.id, until=until.isoformat(timespec="seconds"))
    return f"until {until:%H:%M} UTC, then it ends itself ({way})"


def _entered(work: Underway, name: str, held: Held) -> CampaignHost:
    if held.machine.is_local:
        return LocalHost()
    from flows.hosts.there import FarHost  # noqa: PLC0415 - paramiko takes a while to import
    from flows.notices import Notices  # noqa: PLC0415
    from flows.remote.entering import entered  # noqa: PLC0415

    host = entered(
        held.driver,
        held.machine,
        environment=work.around.environment,
        tell=site_of(work, name).waiting,
    )
    words = held.machine.noted.get("heartbeat")
    far = FarHost(host, is_own=held.machine.driver != SSH_HOSTS)
    if words is not None:
        held.heartbeat = Heartbeat(words, far.hands().run)
        why = held.heartbeat.begin()
        if why is not None:
            work.record("no-heartbeat", host=held.machine.host_id, why=why)
            if held.heartbeat.is_waited_for():
                raise InfrastructureError(
                    f"host {name!r}",
                    f"it hears no heartbeat, and ends half an hour after its boot: {why}",
                    "Let the user who logs in call sudo without a password",
                )
            work.progress.said(f"note: {held.machine.host_id} does not end by itself: {why}")
    if held.machine.noted.get("market") == _SPOT:
        held.notices = Notices(host, partial(hear, work, name))
        why = held.notices.begin()
        if why is not None:
            work.record("no-notices", host=held.machine.host_id, why=why)
            work.progress.said(
                f"note: {held.machine.host_id} does not hear of its own end: {why}"
            )
    return far


def _time_needed(work: Underway) -> dt.timedelta:
    if work.plan.budget_hours is not None:
        return dt.timedelta(hours=work.plan.budget_hours) + _SPARE
    return dt.timedelta(seconds=2 * totals(work.plan.estimate).wall_s.high) + _SPARE


def _price(facts: CandidateFacts) -> Quantity | None:
    price = facts.price
    if price is None:
        return None
    date = None if price.date is None else dt.date.fromisoformat(price.date)
    return Quantity(
        value=price.value, unit=price.unit, basis=price.basis, source=price.source, date=date
    )

"""One call of ``runoff calibrate``: the host locked, measured, given back; figures kept."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from catalog.calibration.file import calibration_text
from catalog.calibration.overlay import entries_of
from catalog.load import load_campaign, load_catalog
from flows.calibrate.apply import LOCAL, host_name, host_of
from flows.calibrate.home import keep
from flows.calibrate.measure import MOST_S, FarTarget, HereTarget, Target, calibrated
from flows.calibrate.order import Manner
from flows.calibrate.view import show_calibration
from flows.clouds import cloud_of
from flows.clouds.protocol import Order, Site
from flows.console import Console
from flows.errors import UsageError
from flows.home import cache_folder, state_folder
from flows.unbreakable import Unbreakable

_SSH: Final = "ssh:"
_SPARE: Final = dt.timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user asked for."""

    host: str
    campaign: Path | None
    manner: Manner
    catalog_out: Path | None
    out: Path | None
    as_json: bool
    folders: tuple[Path, ...]


def calibrate(
    asked: Asked, environment: Mapping[str, str], output: TextIO, notes: TextIO
) -> None:
    """Measure, keep, show; ``notes`` gets a line as each attempt begins.

    Raises
    ------
    RunoffError
        If the host cannot be had or measured.
    """
    host, catalog = _host(asked), load_catalog(asked.folders)
    with _target(host, environment) as target:
        file = calibrated(target, asked.manner, catalog, _now(), _lines_to(notes))
    place = keep(state_folder(environment), file)
    written = [place]
    if asked.out is not None:
        _write(asked.out, calibration_text(file))
        written.append(asked.out)
    if asked.catalog_out is not None:
        for name, text in sorted(entries_of(file, catalog).items()):
            _write(asked.catalog_out / name, text)
            written.append(asked.catalog_out / name)
    if asked.as_json:
        output.write(calibration_text(file))
        return
    console = Console(output)
    show_calibration(console, file, catalog)
    console.paragraphs(f"wrote {path}" for path in written)


def _lines_to(stream: TextIO) -> Callable[[str], None]:
    """Writes lines that come out at once; who reads them may go away."""
    notes = Unbreakable(stream)

    def said(line: str) -> None:
        notes.write(f"{line}\n")
        notes.flush()

    return said


def _host(asked: Asked) -> str:
    campaign = load_campaign(asked.campaign) if asked.campaign is not None else None
    host = host_name(host_of(asked.host, campaign) or asked.host)
    if host == LOCAL or host.startswith(_SSH):
        return host
    candidates = campaign.candidates if campaign is not None else ()
    own = [each.host or each.offer or "" for each in candidates]
    seen = (
        f"the campaign has {', '.join(dict.fromkeys(own))}" if own else "no campaign is named"
    )
    raise UsageError(
        f"host {asked.host!r}",
        f"it is neither this machine nor one over SSH, and {seen}",
        "Name local, ssh:NAME or, with --campaign FILE, a candidate on such a host; a rented "
        "machine is calibrated by its campaign: calibrate: true",
    )


@contextmanager
def _target(host: str, environment: Mapping[str, str]) -> Iterator[Target]:
    """The host, ours alone for the time of the calibration."""
    site = Site(environment=environment, state=state_folder(environment), now=_now)
    driver = cloud_of(host, None, f"host {host!r}").connect(site)
    expires = _now() + dt.timedelta(seconds=MOST_S) + _SPARE
    order = Order(
        host=host, campaign="calibrate", run=f"{_now():%Y%m%dT%H%M%SZ}", expires=expires
    )
    machine = driver.acquire(order, _unwritten)
    try:
        machine = driver.ready(machine, _unwritten)
        if machine.is_local:
            yield HereTarget(cache_folder(environment))
        else:
            from flows.remote.entering import entered  # noqa: PLC0415 - with paramiko

            yield FarTarget(host, entered(driver, machine, environment=environment))
    finally:
        driver.release(machine, _unwritten)


def _unwritten(event: str, **facts: Any) -> None:
    """No campaign runs, so there is no ledger."""
    del event, facts


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}")
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise UsageError(
            str(path), f"cannot be written ({error.strerror})", "Name another"
        ) from None


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)

"""Calibrations that are at hand, given to the candidates that they are of."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.calibration.file import CalibrationFile, read_calibration
from catalog.calibration.rates import MeasuredRates, device_for, rates_of
from catalog.entries import Catalog
from catalog.schema import Campaign, Candidate, Device
from flows.calibrate.fingerprint import changed, fingerprint_of, hardware_of
from flows.calibrate.home import kept
from flows.clouds.protocol import host_id_of
from flows.errors import UsageError

LOCAL: Final = "local"
NONE: Final = "none"
ELSEWHERE: Final = "another machine"
_OTHER: Final = (
    "the {source} is not of this machine as it is now, and serves accelerators of its products "
    "alone. Calibrate this one (runoff calibrate), or that one as ssh:NAME"
)
_DISTURBED: Final = (
    "the {source} was disturbed, and serves exploratory campaigns alone: calibrate again, or "
    "name it by --calibration {host}"
)
_ALIASES: Final = ("local", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A catalog with measured rates, the calibrations that they are from, and what to say."""

    catalog: Catalog
    used: Mapping[str, CalibrationFile]
    notes: tuple[str, ...] = ()


def host_name(word: str) -> str:
    """A host as calibrations call it: ``localhost`` is ``local``."""
    return LOCAL if word in _ALIASES else word


def applied(
    campaign: Campaign,
    catalog: Catalog,
    files: Iterable[CalibrationFile],
    *,
    asked: bool = False,
    hosts: Mapping[str, str] | None = None,
) -> Applied:
    """The catalog with each candidate's measured rates.

    Parameters
    ----------
    files
        Of several that fit a candidate the first is taken.
    asked
        Somebody named them: rates of a product then serve candidates on any machine of it,
        and what does not fit is told. Else they serve candidates of their own host alone.
    hosts
        By candidate, the host that its calibration calls so; None: as the file states it.
    """
    measured: dict[str, MeasuredRates] = {}
    used: dict[str, CalibrationFile] = {}
    notes: list[str] = []
    for candidate in campaign.candidates:
        for file in files:
            found = _rates(candidate, catalog, file, asked=asked, hosts=hosts or {})
            if isinstance(found, MeasuredRates) and not (asked or _is_fit(file, campaign)):
                found = _DISTURBED.format(source=file.source, host=file.host)
            if isinstance(found, MeasuredRates):
                measured[candidate.name], used[candidate.name] = found, file
                break
            if found:
                notes.append(f"{candidate.name}: {found}")
    whole = catalog.with_measured(measured) if measured else catalog
    return Applied(catalog=whole, used=used, notes=tuple(dict.fromkeys(notes)))


def _rates(
    candidate: Candidate,
    catalog: Catalog,
    file: CalibrationFile,
    *,
    asked: bool,
    hosts: Mapping[str, str],
) -> MeasuredRates | str:
    """The candidate's rates; why it has none of this file, empty where that is plain."""
    if candidate.endpoint:
        return ""
    there = hosts.get(candidate.name, candidate.host)
    device = _device(candidate, catalog)
    if there is not None and host_name(there) == file.host:
        found = device_for(file, device)
        return found if isinstance(found, str) else rates_of(file, found)
    if asked and device is not None:
        same = [each for each in file.accelerators if each.catalog_device == device.name]
        if same:
            return rates_of(file, same[0])
    is_foreign = file.host == ELSEWHERE and host_name(there or "") == LOCAL
    return _OTHER.format(source=file.source) if is_foreign else ""


def _is_fit(file: CalibrationFile, campaign: Campaign) -> bool:
    """Whether a campaign may rest on it without being told to."""
    return not file.disturbances or campaign.exploratory


def _device(candidate: Candidate, catalog: Catalog) -> Device | None:
    name = candidate.device
    if name is None and candidate.offer is not None:
        name = catalog.offer(candidate.offer).device
    return catalog.device(name) if name is not None else None


def named(words: Sequence[str], state: Path, campaign: Campaign) -> tuple[CalibrationFile, ...]:
    """The calibrations that ``--calibration`` names: files, or hosts with a stored one.

    Raises
    ------
    UsageError
        If a host has none stored, or this machine's is stale.
    CatalogError
        If a file is none.
    """
    return tuple(_named(word, state, campaign) for word in words)


def _known_here(file: CalibrationFile) -> CalibrationFile:
    """A file as it stands here: what was ``local`` where it was made need not be so here."""
    if file.host != LOCAL or file.fingerprint == fingerprint_of(_hardware_here()):
        return file
    return file.model_copy(update={"host": ELSEWHERE})


def _named(word: str, state: Path, campaign: Campaign) -> CalibrationFile:
    path = Path(word)
    if path.is_file():
        return _known_here(read_calibration(path))
    host = host_name(host_of(word, campaign) or word)
    where = f"--calibration {word}"
    if host == LOCAL:
        file, said = local_calibration(state)
        if file is None:
            raise UsageError(where, said or "this machine has none", "runoff calibrate local")
        return file
    found = kept(state, host)
    if not found:
        raise UsageError(
            where, "no such file, and no stored calibration of such a host", _make(host)
        )
    return found[0]


def host_of(word: str, campaign: Campaign | None) -> str | None:
    """The ``host`` of the campaign's candidate that is called so, or whose machine is."""
    for candidate in campaign.candidates if campaign is not None else ():
        if candidate.host is not None and word in (
            candidate.name,
            candidate.host,
            host_id_of(candidate.host),
        ):
            return candidate.host
    return None


def local_calibration(state: Path) -> tuple[CalibrationFile | None, str]:
    """This machine's stored calibration; None and, where one is stale, a sentence.

    This machine is looked at only where one is stored.
    """
    found = kept(state, LOCAL)
    if not found:
        return None, ""
    return current(found, _hardware_here())


def _hardware_here() -> Mapping[str, object]:
    from flows.control.host import Here  # noqa: PLC0415 - only where it is needed
    from flows.machine.look import found_machine  # noqa: PLC0415
    from flows.system.here import facts_here  # noqa: PLC0415

    return hardware_of(facts_here(LOCAL, dt.datetime.now(dt.UTC)), found_machine(Here()))


def current(
    found: Sequence[CalibrationFile], hardware: Mapping[str, object]
) -> tuple[CalibrationFile | None, str]:
    """The newest calibration of this very hardware; None and why for others alone."""
    now = fingerprint_of(hardware)
    for file in found:
        if file.fingerprint == now:
            return file, ""
    if not found:
        return None, ""
    newest = found[0]
    return None, (
        f"the {newest.source} of {newest.day.isoformat()} is stale and not used: "
        f"{changed(newest.hardware, hardware)}. {_make(newest.host)}"
    )


def at_hand(campaign: Campaign, catalog: Catalog, words: Sequence[str], state: Path) -> Applied:
    """What a verb works with: the named calibrations, else this machine's own where it stands.

    ``none`` among the words: none at all.
    """
    if NONE in words:
        return Applied(catalog=catalog, used={})
    if words:
        return applied(campaign, catalog, named(words, state, campaign), asked=True)
    if not any(host_name(each.host or "") == LOCAL for each in campaign.candidates):
        return Applied(catalog=catalog, used={})
    file, said = local_calibration(state)
    if file is None:
        return Applied(catalog=catalog, used={}, notes=(said,) if said else ())
    return applied(campaign, catalog, (file,))


def _make(host: str) -> str:
    return f"Make one: runoff calibrate {host}"

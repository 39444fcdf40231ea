"""The whole look: this machine, and a campaign against it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from catalog.entries import Catalog
from catalog.schema import Campaign
from deploy_templates.registry import load_runtimes
from flows.calibrate.triad import triad_here
from flows.doctor.installed import installed_readings, use_readings
from flows.doctor.machine import machine_readings
from flows.doctor.reading import Reading
from flows.doctor.tools import Engine, Tools
from flows.foreign_load import HostLoad
from flows.home import cache_folder, state_folder
from flows.preflight import Finding, Probes, preflight, question_of
from flows.preflight.finding import blocks
from flows.run_plan.candidates import Choice
from flows.run_plan.plan import paper_vote
from flows.system.facts import SystemFacts

SCHEMA_VERSION: Final = 1
_MEASURE: Final = "measure"
_CHECKPOINTS: Final = "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A campaign's candidates that would be measured, why others would not, the findings."""

    campaign: str
    measured: tuple[str, ...]
    skipped: dict[str, str]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """The campaign's part as plain values."""
        return {
            "name": self.campaign,
            "measured": list(self.measured),
            "skipped": self.skipped,
            "findings": [finding.to_json() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What the doctor says of this machine and, where one was given, of a campaign."""

    system: SystemFacts
    readings: tuple[Reading, ...]
    checked: Checked | None = None

    @property
    def is_ready(self) -> bool:
        """Whether nothing blocks."""
        found = [each.state for each in self.readings]
        found += [each.severity for each in self.checked.findings] if self.checked else []
        return "blocks" not in found

    def to_json(self) -> dict[str, Any]:
        """The examination as strict JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "ready": self.is_ready,
            "machine": [reading.to_json() for reading in self.readings],
            "system": self.system.to_json(),
            "campaign": self.checked.to_json() if self.checked is not None else None,
        }


def examined(
    probes: Probes, tools: Tools, engines: Sequence[Engine], load: HostLoad | None, store: Path
) -> Examination:
    """This machine, with the folders that a campaign would write to."""
    environment = probes.environment
    folders = (store, state_folder(environment), cache_folder(environment))
    return Examination(
        system=probes.system,
        readings=(
            *machine_readings(probes, tools, folders),
            *installed_readings(probes, tools, engines),
            *use_readings(probes, load),
        ),
    )


def checked(
    campaign: Campaign,
    catalog: Catalog,
    folders: Sequence[Path],
    probes: Probes,
    *,
    today: dt.date,
    store: Path,
) -> Checked:
    """The preflight of those candidates that the paper lets through.

    Raises
    ------
    CatalogError
        For names that the catalog lacks.
    """
    stated = campaign.screening
    choice = Choice(unlikely=stated.unlikely == _MEASURE, unknown=stated.unknown == _MEASURE)
    vote = paper_vote(campaign, catalog, folders, today)
    verdicts = {verdict.name: verdict for verdict in vote.candidates}
    skipped = {
        each.name: reason
        for each in campaign.candidates
        if (reason := choice.against(each, verdicts[each.name])) is not None
    }
    measured = [each.name for each in campaign.candidates if each.name not in skipped]
    question = question_of(
        campaign,
        catalog,
        load_runtimes(folders),
        today=today,
        store=store,
        checkpoints=cache_folder(probes.environment) / _CHECKPOINTS,
        folders=folders,
        names=measured,
    )
    return Checked(
        campaign=campaign.name,
        measured=tuple(measured),
        skipped=skipped,
        findings=preflight(question, probes, () if measured else (_nobody(campaign),)),
    )


def _nobody(campaign: Campaign) -> Finding:
    return blocks(
        f"campaign {campaign.name!r}",
        "no candidate would be measured",
        "Add one, or read what runoff screen says of those that it has",
    )


def with_bandwidth(system: SystemFacts) -> SystemFacts:
    """The same machine with its main memory's bandwidth, measured now for some seconds."""
    return replace(system, bandwidth=triad_here(system))

"""What the measuring process is asked to do, and what it answers."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from flows.bench.probe import Survey, survey
from flows.bench.run import CellFiles, measure_cell
from flows.bench.shard import HERE, Place
from flows.bench.spec import CellSpec
from flows.collect.source import Source
from flows.foreign_load import Sampler, sampled
from flows.measuring.sampling import Samples, Sampling
from reports.cell import observed_of, summarise
from reports.records import read_records
from reports.run.cell_file import AskedCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One replication as it came out.

    ``asked`` is what ``cell.json`` keeps of the question, ``document`` the object of ``bench
    --json``, ``foreign`` who else used the host meanwhile. ``telemetry`` sums up the samples
    of the server's machine, None where there are none: ``unsampled`` then may say why.
    """

    interrupted: bool
    asked: AskedCell
    document: dict[str, Any]
    foreign: dict[str, Any]
    telemetry: dict[str, Any] | None = None
    unsampled: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask a server how it counts."""

    spec: CellSpec

    def done(self) -> Survey:
        """What it answered."""
        return survey(self.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Measure one replication of one cell into ``folder``.

    ``percentile`` and ``first`` are the contract's: at which percentile its latencies are
    judged, and which token its TTFT limits. ``place`` is where its load comes from; who else
    used that host is told. ``sampling`` is what is sampled beside it.
    """

    spec: CellSpec
    folder: Path
    survey: Survey
    launched: Source | None
    percentile: float = 95.0
    first: Literal["token", "answer"] = "token"
    place: Place = HERE
    sampling: Sampling | None = None

    def done(self) -> Measured:
        """Its files are written; this is what they say."""
        samples = self._samples()
        with sampled(Sampler([os.getppid()])) as sampler, _taken(samples):
            files = measure_cell(
                self.spec,
                self.folder,
                known=self.survey,
                launched=self.launched,
                place=self.place,
            )
        return self._told(files, sampler, samples)

    def _samples(self) -> Samples | None:
        if self.sampling is None:
            return None
        return Samples(self.sampling, self.folder, self.spec.replication)

    def _told(self, files: CellFiles, sampler: Sampler, samples: Samples | None) -> Measured:
        from flows.bench.judge import document_of, settings_of  # noqa: PLC0415 - after the load

        account = json.loads(files.client.read_bytes())
        asked = settings_of(self.spec, account)
        slo = replace(asked.slo, percentile=self.percentile, first=self.first)
        asked = replace(asked, slo=slo)
        columns = read_records(files.records).columns
        summary = summarise(columns, asked, observed_of(account))
        return Measured(
            interrupted=files.interrupted,
            asked=AskedCell.of(asked),
            document=document_of(summary, files),
            foreign=dict(files.foreign or sampler.load().to_json()),
            telemetry=None if samples is None else samples.summary(columns),
            unsampled=None if samples is None else samples.missing,
        )


def _taken(samples: Samples | None) -> AbstractContextManager[None]:
    return nullcontext() if samples is None else samples.taken()


Job = Ask | Cell

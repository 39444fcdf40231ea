"""What the measuring process is asked to do, and what it answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.bench.probe import Survey, survey
from flows.bench.run import measure_cell
from flows.bench.spec import CellSpec
from flows.collect.source import Source
from flows.foreign_load import Sampler, sampled


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One replication as it came out: its summary, and who else used the host meanwhile."""

    interrupted: bool
    document: dict[str, Any]
    foreign: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask a server how it counts."""

    spec: CellSpec

    def done(self) -> Survey:
        """What it answered."""
        return survey(self.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Measure one replication of one cell into ``folder``."""

    spec: CellSpec
    folder: Path
    survey: Survey
    launched: Source | None

    def done(self) -> Measured:
        """Its files are written; this is what they say."""
        with sampled(Sampler([os.getppid()])) as sampler:
            files = measure_cell(
                self.spec, self.folder, known=self.survey, launched=self.launched
            )
        from flows.bench.judge import document_of, summary_of  # noqa: PLC0415 - after the load

        return Measured(
            interrupted=files.interrupted,
            document=document_of(summary_of(self.spec, files), files),
            foreign=sampler.load().to_json(),
        )


Job = Ask | Cell

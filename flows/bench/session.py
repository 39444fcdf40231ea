"""What ``runoff bench`` does with its options: measure, tell, and end with a code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from flows.bench.endings import endings_held, endings_interrupt
from flows.bench.flags import Flags, cell_spec
from flows.bench.places import STANDARD_OUTPUT, check_apart, check_place, write_json
from flows.bench.probe import survey
from flows.bench.run import CellFiles, measure_cell
from flows.bench.scratch import scratch
from flows.bench.shard import HERE, Place
from flows.bench.spec import CellSpec
from flows.bench.tokens import tokenizer_text
from flows.console import Console
from flows.errors import ExitCode, Finished

if TYPE_CHECKING:
    from reports.cell import CellSummary

_PRECEDENCE = (
    ExitCode.EVIDENCE,
    ExitCode.NONE_COMPLIES,
    ExitCode.INCONCLUSIVE,
    ExitCode.DECIDED,
)


@dataclass(slots=True)
class _Session:
    """Replications measured so far; their files live as long as ``folder``."""

    spec: CellSpec
    console: Console
    folder: Path
    place: Place
    files: list[CellFiles] = field(default_factory=list)
    summaries: list[CellSummary] = field(default_factory=list)
    documents: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    def measure(self, replications: int) -> None:
        """Measure one replication after the other until all are done or Ctrl-C."""
        found = survey(self.spec)
        try:
            for replication in range(replications):
                spec = replace(self.spec, replication=replication)
                files = measure_cell(spec, self.folder, known=found, place=self.place)
                with endings_held():
                    self._take(spec, files)
                if files.interrupted:
                    self.interrupted = True
                    return
        except KeyboardInterrupt:
            if not self.files:
                raise
            self.interrupted = True

    def _take(self, spec: CellSpec, files: CellFiles) -> None:
        # a second of imports that would only delay the first send
        from flows.bench.judge import document_of, summary_of  # noqa: PLC0415
        from flows.bench.show import show_cell  # noqa: PLC0415
        from flows.bench.show_machines import show_machines  # noqa: PLC0415
        from flows.bench.show_server import show_basis, show_queue_time  # noqa: PLC0415

        summary = summary_of(spec, files)
        document = document_of(summary, files)
        self.files.append(files)
        self.summaries.append(summary)
        self.documents.append(document)
        with _perhaps_read():
            show_basis(self.console, document)
            show_cell(self.console, spec, summary)
            show_queue_time(self.console, document)
            show_machines(self.console, document)

    def keep(self, json_out: str | None, raw: Path | None) -> None:
        """Write what all replications together say where the user wants it."""
        from flows.bench.replications import combined, keep_records  # noqa: PLC0415
        from flows.bench.show import show_replications  # noqa: PLC0415

        document = combined(self.documents)
        if len(self.files) > 1:
            with _perhaps_read():
                show_replications(self.console, document, self.summaries)
        if raw is not None:
            keep_records([files.records for files in self.files], raw)
        with _perhaps_read():
            write_json(document, json_out)

    def exit_code(self) -> ExitCode:
        """130 after Ctrl-C, else 7 if any replication is not valid, else 4, 5 or 0."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return min(
            (ExitCode(summary.exit_code) for summary in self.summaries),
            key=_PRECEDENCE.index,
        )


def run_cells(given: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Measure what the options describe, print and store it; raises Finished."""
    json_out, raw = given["json_out"], given["raw"]
    spec = cell_spec(Flags.of(given), environ)
    check_place("--json", json_out)
    check_place("--raw", raw)
    check_apart(json_out, raw)
    tokenizer_text(spec.content.tokenizer)
    place = _place(given["dask"], spec)
    with endings_interrupt(), scratch() as folder:
        session = _Session(spec, console_for(json_out), folder, place)
        session.measure(given["replications"])
        with endings_held():
            session.keep(json_out, raw)
    raise Finished(session.exit_code())


def _place(dask: str | None, spec: CellSpec) -> Place:
    if dask is None:
        return HERE
    from flows.bench.dask_machines import check_address  # noqa: PLC0415 - few have Dask
    from flows.bench.dask_place import DaskPlace  # noqa: PLC0415

    check_address(dask)
    return DaskPlace(address=dask, endpoints=spec.target.endpoints, shards=spec.shards)


def run_calibration(json_out: str | None) -> None:
    """Measure this machine's client against a null server, print and store it."""
    from flows.bench.calibrate import calibrate  # noqa: PLC0415
    from flows.bench.show import show_calibration  # noqa: PLC0415

    check_place("--json", json_out)
    calibration = calibrate()
    show_calibration(console_for(json_out), calibration)
    write_json(calibration.to_json(), json_out)


@contextmanager
def _perhaps_read() -> Iterator[None]:
    """What is written inside may have lost its reader, which must not cost the rest."""
    try:
        yield
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            if _has_lost_its_reader(stream):
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _has_lost_its_reader(stream: TextIO) -> bool:
    try:
        stream.flush()
    except BrokenPipeError:
        return True
    return False


def console_for(json_out: str | None) -> Console:
    """Where tables go: not where the JSON goes."""
    return Console(sys.stderr if json_out == STANDARD_OUTPUT else sys.stdout)

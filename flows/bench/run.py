"""One replication of one cell, from its description to its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flows.bench.endings import endings_held
from flows.bench.planning import CellPlan, write_plans
from flows.bench.probe import Survey, survey
from flows.bench.scratch import scratch
from flows.bench.shard import HERE, Job, OpenPlace, Place
from flows.bench.spec import CellSpec
from flows.bench.tokens import token_count
from flows.bench.traffic import Watch
from flows.bench.workload import TokenCount
from flows.collect.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFiles:
    """What a measured replication left: request records, the client's account, the server's.

    ``foreign`` says who else used the machine that the load came from, where that is not this
    one.
    """

    records: Path
    client: Path
    server: Path
    interrupted: bool
    foreign: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """What was asked, what is known of the servers, and what the load processes left."""

    spec: CellSpec
    found: Survey
    plan: CellPlan
    watch: Watch
    raws: Sequence[Path]
    count_tokens: TokenCount | None


def measure_cell(
    spec: CellSpec,
    out_dir: Path,
    *,
    known: Survey | None = None,
    launched: Source | None = None,
    place: Place = HERE,
) -> CellFiles:
    """Measure one replication and write its files into ``out_dir``.

    ``known`` saves the probe where the same server has just been asked; ``launched`` says
    where servers that runoff started have their metrics; ``place`` is where the load comes
    from. Raises UsageError and InfrastructureError before the clock starts; what happens to
    requests after that is in the records. After Ctrl-C, even while they are written, the
    files hold what was measured until then.
    """
    with place.opened() as there:
        return _measured(spec, out_dir, there, known, launched)


def _measured(
    spec: CellSpec,
    out_dir: Path,
    place: OpenPlace,
    known: Survey | None,
    launched: Source | None,
) -> CellFiles:
    count_tokens = token_count(spec.content.tokenizer)
    found = known or survey(spec)
    watch = Watch.over(spec.target.endpoints, launched, clock=place.now_ns)
    with scratch() as folder:
        plan = write_plans(spec, found, folder, count_tokens)
        jobs = [Job(plan=path, raw=path.with_suffix(".raw")) for path in plan.paths]
        watch.settle_before()
        interrupted = place.run(jobs, meanwhile=watch.sample)
        try:
            watch.settle_after()
        except KeyboardInterrupt:
            interrupted = True  # all is measured: what is given up is the wait
        cell = _Cell(
            spec=spec,
            found=found,
            plan=plan,
            watch=watch,
            raws=[job.raw for job in jobs],
            count_tokens=count_tokens,
        )
        files = CellFiles(
            records=out_dir / f"{spec.replication}.parquet",
            client=out_dir / f"{spec.replication}.client.json",
            server=out_dir / f"{spec.replication}.server.json",
            interrupted=interrupted,
            foreign=place.foreign(),
        )
        try:
            with endings_held():
                _write(cell, files)
        except KeyboardInterrupt:
            files = replace(files, interrupted=True)
    return files


def _write(cell: _Cell, files: CellFiles) -> None:
    """Put what the load processes left together and write the replication's files."""
    # a second of imports that would only delay the first send
    from flows.bench.account import account_of, write_account  # noqa: PLC0415
    from flows.bench.merge import merged  # noqa: PLC0415
    from flows.bench.server import identity, server_record  # noqa: PLC0415

    spec, found, watch = cell.spec, cell.found, cell.watch
    files.records.parent.mkdir(parents=True, exist_ok=True)
    run = merged(spec, cell.raws, cell.count_tokens, watch.answer_fields)
    watched = watch.account(run.ours(len(spec.target.endpoints)), run.window)
    server = server_record(spec, watch, run, is_simulation=found.is_simulation)
    run.write_records(files.records)
    write_account(files.client, account_of(spec, found, cell.plan, run, watched))
    write_account(files.server, server.to_json(identity(spec)))

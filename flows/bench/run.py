"""One replication of one cell, from its description to its files."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from flows.bench.planning import write_plans
from flows.bench.probe import Survey, survey
from flows.bench.shard import Job, run_shards
from flows.bench.spec import CellSpec
from flows.bench.tokens import token_count
from flows.bench.traffic import Watch
from flows.collect.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFiles:
    """What a measured replication left: request records, the client's account, the server's."""

    records: Path
    client: Path
    server: Path
    interrupted: bool


def measure_cell(
    spec: CellSpec,
    out_dir: Path,
    *,
    known: Survey | None = None,
    launched: Source | None = None,
) -> CellFiles:
    """Measure one replication and write its files into ``out_dir``.

    ``known`` saves the probe where the same server has just been asked; ``launched`` says
    where servers that runoff started have their metrics. Raises UsageError
    and InfrastructureError before the clock starts; what happens to requests after that is
    in the records. After Ctrl-C the files hold what was measured until then.
    """
    count_tokens = token_count(spec.content.tokenizer)
    found = known or survey(spec)
    watch = Watch.over(spec.target.endpoints, launched)
    with tempfile.TemporaryDirectory(prefix="runoff-bench-") as name:
        folder = Path(name)
        plan = write_plans(spec, found, folder, count_tokens)
        jobs = [Job(plan=path, raw=path.with_suffix(".raw")) for path in plan.paths]
        watch.settle_before()
        interrupted = run_shards(jobs, meanwhile=watch.sample)
        try:
            watch.settle_after()
        except KeyboardInterrupt:
            interrupted = True  # all is measured: what is given up is the wait
        records = out_dir / f"{spec.replication}.parquet"
        client = out_dir / f"{spec.replication}.client.json"
        server = out_dir / f"{spec.replication}.server.json"
        out_dir.mkdir(parents=True, exist_ok=True)
        # a second of imports that would only delay the first send
        from flows.bench.account import account_of, write_account  # noqa: PLC0415
        from flows.bench.merge import merged  # noqa: PLC0415
        from flows.bench.server import identity, server_record  # noqa: PLC0415

        run = merged(spec, [job.raw for job in jobs], count_tokens, watch.answer_fields)
        watched = watch.account(run.ours(len(spec.target.endpoints)), run.window)
        run.write_records(records)
        write_account(client, account_of(spec, found, plan, run, watched))
        write_account(server, server_record(spec, watch, run).to_json(identity(spec)))
    return CellFiles(records=records, client=client, server=server, interrupted=interrupted)

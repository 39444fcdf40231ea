"""Run directories made to measure: real files, made-up servers of a known speed.

    folder = build_run(tmp_path, [Made(name="B"), Made(name="C", itl_ms=12, price=7.34)])

The same arguments give the same files. ``QUICK`` makes small runs (few, short cells).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from catalog.lengths import parse_lengths
from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.quantity import Basis
from catalog.screen import screen
from deploy_templates.registry import load_runtimes
from reports.cell.settings import CellSettings, Slo
from reports.records import Anchor, Records, write_records
from reports.run import layout
from reports.run.cell_file import AskedCell, CellFile
from reports.run.host_file import HostFile
from reports.run.layout import CellName, RunFolder
from reports.run.number import Number
from reports.run.plan_file import (
    CandidateFacts,
    ContractFacts,
    EstimateItem,
    LoadPoint,
    MatrixFacts,
    PriceFacts,
    RunPlan,
    Visit,
)
from reports.run.read import file_text
from reports.run.search_file import SearchFile
from tests.reports import chat
from tests.reports.run.traffic import Pace, requests_of, sums_of

NOW = dt.datetime(2026, 8, 22, 12, 0, tzinfo=dt.UTC)
CONTRACT = chat.CONTRACT.model_copy(update={"concurrency": 4})
CLOSED = {
    streams: LoadPoint(name=f"closed-{streams}", process="closed", concurrency=streams)
    for streams in (1, 4, 8)
}
POISSON = LoadPoint(name="poisson-1", process="poisson", rate_per_s=1.0)
POINTS = (CLOSED[1], CLOSED[4], CLOSED[8], POISSON)
QUICK: Mapping[str, Any] = {
    "requests": 60,
    "duration_s": 20.0,
    "points": (CLOSED[1], CLOSED[4]),
}


@dataclass(frozen=True, kw_only=True)
class Made:
    """A candidate whose true figures at the decision point are known.

    ``noise`` is the coefficient of variation between launches, ``spread`` that between
    requests of one launch. ``late`` is the share of answers that come beyond every limit,
    ``failures`` the share that fail. Rates above ``holds_rate`` overload it. ``price`` is
    USD per hour (None: unknown) or whole price facts. ``facts`` replaces fields of the plan's
    ``CandidateFacts``; ``cell``, ``client`` and ``server`` change the replications' files.
    """

    name: str = "B"
    ttft_ms: float = 300.0
    itl_ms: float = 15.0
    noise: float = 0.01
    spread: float = 0.1
    late: float = 0.0
    failures: float = 0.0
    holds_rate: float | None = None
    price: float | PriceFacts | None = 3.67
    devices: int = 1
    start_s: float = 60.0
    measured: bool = True
    failed_launches: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    cell: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    read_back: tuple[Mapping[str, Any], ...] = ()
    search: SearchFile | None = None


B = Made(name="B", facts={"ranks": ("primary",)})
C = Made(name="C", itl_ms=11.0, price=7.34, devices=2, facts={"ranks": ("cost-inefficient",)})
ON_PAPER = (
    Made(name="A", measured=False, price=4.5),
    Made(name="D", measured=False, price=0.85),
)


def build_run(
    root: Path,
    made: Sequence[Made] = (B, C, *ON_PAPER),
    *,
    contract: ContractFacts = CONTRACT,
    points: Sequence[LoadPoint] = POINTS,
    decision_point: str | None = "closed-4",
    replications: int = 3,
    requests: int = 200,
    duration_s: float = 600.0,
    rehearsal: bool = False,
    exploratory: bool = False,
    seed: int = 42,
    plan: Mapping[str, Any] | None = None,
) -> RunFolder:
    """Write a whole evidence directory (no summary, checks or decision) and return it.

    It stands at ``root/canonical/20260822-120000``. ``plan`` replaces fields of the plan.
    """
    matrix = MatrixFacts(
        load_points=tuple(points),
        decision_point=decision_point,
        requests=requests,
        duration_s=duration_s,
        decision_duration_s=None if exploratory else max(duration_s, 600.0),
        warmup="fixed",
        warmup_requests=20,
        replications=replications,
        seed=seed,
    )
    folder = RunFolder(root / "canonical" / "20260822-120000")
    folder.path.mkdir(parents=True)
    changes = dict(plan or {})
    contract = _with_lengths(changes.pop("contract", contract))
    matrix = changes.pop("matrix", matrix)
    text = _campaign(made, contract, matrix, {"exploratory": exploratory, **changes})
    folder.file(layout.CAMPAIGN).write_text(text)
    gates = _gates(folder.file(layout.CAMPAIGN))
    folder.file(layout.GATES).write_text(json.dumps(gates, indent=1) + "\n")
    whole = _plan(
        made,
        gates,
        contract,
        matrix,
        text=text,
        rehearsal=rehearsal,
        exploratory=exploratory,
    )
    whole = whole.model_copy(update=changes)
    folder.file(layout.PLAN).write_text(file_text(whole))
    _write_evidence(folder, whole, made)
    return folder


def _plan(
    made: Sequence[Made],
    gates: Mapping[str, Any],
    contract: ContractFacts,
    matrix: MatrixFacts,
    *,
    text: str,
    rehearsal: bool,
    exploratory: bool,
) -> RunPlan:
    ran = [each for each in made if each.measured]
    rows = {row["name"]: row for row in gates["candidates"]}
    points = tuple(point.name for point in matrix.load_points)
    return RunPlan(
        runoff_version="0.1.0",
        campaign="canonical",
        run="20260822-120000",
        question="Which hardware path serves Llama-3-8B chat within 1 s and 25 ms?",
        created_at=NOW.isoformat(),
        campaign_sha256=hashlib.sha256(text.encode()).hexdigest(),
        catalog_digest="0" * 63 + "1",
        exploratory=exploratory,
        rehearsal=rehearsal,
        contract=contract,
        matrix=matrix,
        candidates=tuple(_facts(each, rows[each.name]) for each in made),
        order=tuple(
            Visit(
                host=f"host-{each.name}",
                replication=replication,
                candidate=each.name,
                load_points=points,
            )
            for replication in range(matrix.replications)
            for each in ran
        ),
        estimate=tuple(
            EstimateItem(what="cells", host=f"host-{each.name}", low_s=3600, high_s=5400)
            for each in ran
        ),
        budget_usd=50.0,
        budget_hours=12.0,
        money_not_spent=Number(value=9.2, unit="USD", basis=Basis.ASSUMPTION)
        if len(ran) < len(made)
        else None,
    )


def _facts(each: Made, row: Mapping[str, Any]) -> CandidateFacts:
    price = each.price
    if isinstance(price, float | int):
        price = PriceFacts(
            value=price,
            unit="USD/h",
            basis=Basis.ASSUMPTION,
            source="campaign",
            date="2026-08-01",
            stated=True,
            commitment="on-demand",
            sold_as="instance",
        )
    values: dict[str, Any] = {
        "name": each.name,
        "kind": "launch",
        "host": f"host-{each.name}",
        "host_class": "ssh",
        "device": row["device"],
        "device_count": each.devices,
        "tensor_parallel": each.devices,
        "runtime": row["runtime"],
        "version": row["version"],
        "precision": "bfloat16",
        "kv_precision": "bfloat16",
        "checkpoint": "hub",
        "price": price,
        "verdict": row["verdict"] if not each.measured else "pass",
        "clause": row["clause"],
        "reason": row["reason"],
        "ranks": tuple(row["ranks"]) if each.measured else (),
        "bound_ttft_ms": 46.7,
        "bound_itl_ms": 4.0,
        "measured": each.measured,
        "skipped": None if each.measured else _left_out(row),
        "fingerprint": launch_fingerprint(each.name) if each.measured else None,
    }
    return CandidateFacts(**{**values, **each.facts})


def _left_out(row: Mapping[str, Any]) -> str:
    return f"{row['clause']}: {row['reason']}" if row["reason"] else "it was left out"


def _write_evidence(folder: RunFolder, plan: RunPlan, made: Sequence[Made]) -> None:
    ledger: list[dict[str, Any]] = []
    ran = [each for each in made if each.measured]
    for each in ran:
        facts = plan.candidate(each.name)
        _write(folder.host(facts.host) / "system.json", file_text(_host(facts)))
        ledger.append(_event("acquired", host=facts.host, offer=facts.offer))
        if each.search is not None:
            _write(folder.path / "search" / f"{each.name}.json", file_text(each.search))
    for replication in range(plan.matrix.replications):
        for each in ran:
            ledger.extend(_visit(folder, plan, each, replication))
    ledger.append(_event("spent", usd=12.5, seconds=11_000))
    ledger.extend(_event("released", host=plan.candidate(each.name).host) for each in ran)
    lines = "".join(json.dumps(line) + "\n" for line in ledger)
    folder.file(layout.LEDGER).write_text(lines)


def _visit(
    folder: RunFolder, plan: RunPlan, each: Made, replication: int
) -> list[dict[str, Any]]:
    who = {"candidate": each.name, "replication": replication}
    facts = plan.candidate(each.name)
    launch = f"{each.name}-{replication}"
    if replication in each.failed_launches:
        return [
            _event("launching", **who, host=facts.host, launch=launch),
            _event("launch-failed", **who, host=facts.host, why="CUDA error: out of memory"),
        ]
    if facts.kind == "launch":
        document = _launch(each, facts, plan, replication)
        text = json.dumps(document, indent=1) + "\n"
        _write(folder.launch(each.name, replication) / "launch.json", text)
    for position, point in enumerate(_points_of(plan, each)):
        _cell(folder, plan, each, point, replication=replication, position=position)
    return [
        _event("launched", **who, host=facts.host, launch=launch),
        *(_event("measured", **who, load_point=p.name) for p in _points_of(plan, each)),
        _event("stopped", **who, host=facts.host, launch=launch),
    ]


def _points_of(plan: RunPlan, each: Made) -> tuple[LoadPoint, ...]:
    proof = each.search.proof if each.search is not None else ()
    return (*plan.matrix.load_points, *proof)


def _cell(
    folder: RunFolder,
    plan: RunPlan,
    each: Made,
    point: LoadPoint,
    *,
    replication: int,
    position: int,
) -> None:
    name = CellName(
        candidate=each.name,
        load_point=point.name,
        key=_digest(plan.run, each.name, point.name)[: layout.KEY_DIGITS],
    )
    launch = f"{each.name}-{replication}"
    rng = np.random.default_rng(
        [plan.matrix.seed, zlib.crc32(f"{each.name}/{point.name}".encode()), replication]
    )
    columns = requests_of(
        point,
        _pace(plan, each, point, replication),
        rng,
        requests=plan.matrix.requests,
        duration_s=plan.matrix.duration_s or 0.0,
        output_tokens=int(plan.contract.output_tokens),
        prompt_tokens=int(plan.contract.prompt_tokens),
        identity={
            "run": plan.run,
            "cell": name.folder,
            "replication": replication,
            "launch": launch,
        },
    )
    asked = AskedCell.of(_settings(plan, point, len(columns)))
    files = {
        ending: folder.replication(name, replication, ending)
        for ending in ("parquet", "client.json", "server.json")
    }
    folder.cell(name).mkdir(parents=True, exist_ok=True)
    write_records(
        files["parquet"],
        Records(columns=columns, anchor=Anchor(monotonic_ns=0, unix_ns=1_787_400_000 * 10**9)),
    )
    who = {"run": plan.run, "cell": name.folder, "replication": replication, "launch": launch}
    basis = "simulation" if plan.rehearsal else "measurement"
    client = {**_client(plan, who, asked, basis), **each.client}
    server = {**_server(who, sums_of(columns), basis), **each.server}
    for ending, document in (("client.json", client), ("server.json", server)):
        _write(files[ending], json.dumps(document, indent=1) + "\n")
    values: dict[str, Any] = {
        "run": plan.run,
        "candidate": each.name,
        "load_point": point.name,
        "key": name.key,
        "replication": replication,
        "launch": launch,
        "host": f"host-{each.name}",
        "load_host": f"host-{each.name}",
        "position": position,
        "seed": _seed(plan, point, replication),
        "basis": basis,
        "started_at": NOW.isoformat(),
        "ended_at": (NOW + dt.timedelta(seconds=700)).isoformat(),
        "asked": asked,
        "client_cpus": (0, 1),
        "server_cpus": (2, 3),
        "files": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files.values()
        },
    }
    text = file_text(CellFile(**{**values, **each.cell}))
    _write(folder.replication(name, replication, "cell.json"), text)


def _pace(plan: RunPlan, each: Made, point: LoadPoint, replication: int) -> Pace:
    """Slower with more streams; every cell of a launch shares the launch's luck."""
    luck = np.random.default_rng(
        [plan.matrix.seed, zlib.crc32(f"{each.name}/launch".encode()), replication]
    )
    factor = float(np.exp(each.noise * luck.standard_normal()))
    decision = plan.contract.concurrency or 1
    service_s = (each.ttft_ms + each.itl_ms * int(plan.contract.output_tokens)) / 1000
    streams = point.concurrency or (point.rate_per_s or 1.0) * service_s
    load = 0.8 + 0.2 * streams / decision
    is_over = each.holds_rate is not None and (point.rate_per_s or 0) > each.holds_rate
    return Pace(
        ttft_ms=each.ttft_ms * load * factor * (20 if is_over else 1),
        itl_ms=each.itl_ms * load * factor,
        spread=each.spread,
        late=each.late,
        failures=each.failures,
    )


def _settings(plan: RunPlan, point: LoadPoint, planned: int) -> CellSettings:
    slo = plan.contract.slo
    return CellSettings(
        slo=Slo(
            ttft_ms=slo.ttft_ms,
            itl_ms=slo.itl_ms,
            itl_statistic=slo.itl_statistic,
            percentile=slo.percentile,
            goodput=slo.goodput,
        ),
        arrival=point.process,
        offered_rate=point.rate_per_s,
        concurrency=point.concurrency or point.max_in_flight,
        output=plan.contract.output,
        output_tokens=int(plan.contract.output_tokens),
        planned_requests=planned,
    )


def _client(
    plan: RunPlan, who: Mapping[str, Any], asked: AskedCell, basis: str
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        **who,
        "seed": plan.matrix.seed,
        "model": plan.contract.model,
        "dialect": "completions",
        "basis": basis,
        "endpoints": ["http://127.0.0.1:8000/v1/completions"],
        "complete": True,
        "plan": {
            "requests": asked.planned_requests,
            "offered_rate": asked.offered_rate,
            "shared_share": 0.0,
        },
        "prompts": {
            "sent_as": "token ids",
            "counted": "usage",
            "overhead_tokens": 0.0,
            "tokens_per_symbol": 1.0,
        },
        "server": {
            "runtime": "vllm",
            "requests_before": 0.0,
            "requests_after": 0.0,
            "foreign_peak": 0.0,
            "waiting_share": 0.0,
            "prefix_hit_share": 0.0,
            "samples": 600,
        },
        "shards": [
            {
                "client": {
                    "send_lag_ms_p99": 0.2,
                    "loop_lag_ms_p99": 0.3,
                    "cpu_share": 0.11,
                    "in_flight_peak": 8,
                    "rtt_us": [120.0, 130.0, 125.0],
                    "plan_ran_out": False,
                },
                "complete": True,
                "warmup_converged": None,
                "warmup_requests": 20,
                "connections": {
                    "opened": 4,
                    "dns_us": None,
                    "connect_us": 90.0,
                    "tls_us": None,
                },
            }
        ],
    }


def _server(who: Mapping[str, Any], sums: Mapping[str, int], basis: str) -> dict[str, Any]:
    def figure(value: float, unit: str, method: str) -> dict[str, Any]:
        return {
            "unit": unit,
            "basis": basis,
            "method": method,
            "n": 200,
            "value": value,
            "low": value * 0.9,
            "high": value * 1.1,
            "level": None,
            "is_estimate": False,
        }

    counter = "difference of the counter before and after the cell"
    return {
        "schema_version": 1,
        **who,
        "server_queue_time_p95": figure(0.012, "s", "bracket of the histogram's bins"),
        "server_queue_time_mean": figure(0.004, "s", "sum over count of the histogram"),
        "servers": [
            {
                "endpoint": "http://127.0.0.1:8000/v1/completions",
                "source": {
                    "runtime": "vllm",
                    "release": "0.6.3",
                    "release_from": "launch plan",
                    "path": "/metrics",
                    "dialect": "prometheus",
                    "basis": basis,
                },
                "readings": 600,
                "gauges": {
                    "running": _gauge(3.9, 4.0, figure),
                    "waiting": _gauge(0.1, 1.0, figure),
                    "kv_use": _gauge(0.18, 0.22, figure),
                },
                "counted": {
                    "prompt_tokens": figure(sums["prompt_tokens"], "tokens", counter),
                    "generation_tokens": figure(sums["output_tokens"], "tokens", counter),
                    "requests_finished": figure(sums["requests"], "requests", counter),
                    "preemptions": figure(0.0, "events", counter),
                },
                "times": {},
                "shares": {"prefix_hits": figure(0.0, "1", "quotient of two counters")},
                "missing": {},
                "client": dict(sums),
            }
        ],
    }


def _gauge(mean: float, most: float, figure: Any) -> dict[str, Any]:
    return {
        "before": 0.0,
        "mean": figure(mean, "1", "mean over time of the sampled gauge"),
        "most": figure(most, "1", "greatest of the readings"),
        "after": 0.0,
    }


def _launch(
    each: Made, facts: CandidateFacts, plan: RunPlan, replication: int
) -> dict[str, Any]:
    start_ns = int((each.start_s + 0.5 * replication) * 1e9)
    return {
        "state": "stopped",
        "schema_version": 1,
        "name": each.name,
        "runtime": facts.runtime,
        "version": facts.version,
        "form": "package",
        "simulation": plan.rehearsal,
        "fingerprint": facts.fingerprint,
        "argv": ["vllm", "serve", plan.contract.model, "--port", "8000"],
        "environment": {"VLLM_LOGGING_LEVEL": "INFO", "HF_TOKEN": "***"},
        "mark": f"mark-{each.name}-{replication}",
        "pid": 4000 + replication,
        "started_at": NOW.isoformat(),
        "host": "127.0.0.1",
        "port": 8000,
        "served_model": plan.contract.model,
        "models": [plan.contract.model],
        "first_token": {
            "model": plan.contract.model,
            "prompt_tokens": 2,
            "completion_tokens": 1,
            "system_fingerprint": None,
        },
        "start_ns": start_ns,
        "resolution_ns": 50_000_000,
        "phases": [
            {"name": "weights loaded", "duration_ns": start_ns // 2},
            {"name": "first token", "duration_ns": start_ns - start_ns // 2},
        ],
        "read_back": [
            {
                "variable": "max_model_len",
                "asked": "8192",
                "seen": "8192",
                "verdict": "match",
                "where": "/v1/models data.0.max_model_len",
                "note": "",
            },
            *each.read_back,
        ],
        "ownership": {"how": "by process", "addresses": ["127.0.0.1"], "pids": [4000]},
        "threats": list(facts.threats),
        "stopped": {
            "exit_code": 0,
            "signals": ["SIGTERM"],
            "duration_ns": 10**9,
            "port_is_free": True,
            "log": "server.log.zst",
            "cleanup": None,
        },
    }


def _host(facts: CandidateFacts) -> HostFile:
    return HostFile(
        host=facts.host,
        driver=facts.host_class,
        seen_at=NOW.isoformat(),
        facts={
            "kernel": "6.1.0",
            "cpu": "AMD EPYC 7543",
            "cores": 32,
            "memory_gib": 503.6,
            "gpu": "NVIDIA A100-SXM4-80GB",
            "gpu_driver": "550.54.15",
        },
        order={"device": facts.device, "device_count": facts.device_count},
    )


def _with_lengths(contract: ContractFacts) -> ContractFacts:
    """With the mean and the longest answer that its lengths have."""
    lengths = parse_lengths(contract.output_tokens)
    return contract.model_copy(
        update={
            "mean_output_tokens": lengths.mean(),
            "longest_output_tokens": lengths.maximum,
        }
    )


def _campaign(
    made: Sequence[Made],
    contract: ContractFacts,
    matrix: MatrixFacts,
    plan: Mapping[str, Any],
) -> str:
    """The canonical campaign with these candidates, contract, loads, and the plan's changes.

    Names that it lacks are made from B, or from D where they are not measured; A is too, as
    no bound rejects its own device at four streams.
    """
    document = yaml.safe_load(_CANONICAL.read_text())
    known = {each["name"]: each for each in document["candidates"] if each["name"] != "A"}
    document["contract"] = stated(contract)
    for name in ("exploratory", "incumbent", "commitments"):
        if name in plan:
            document[name] = list(plan[name]) if name == "commitments" else plan[name]
    if "switch_if_saves" in plan:
        document["switch_if_saves"] = _with_unit(plan["switch_if_saves"] * 100, "%")
    document["candidates"] = [
        _priced(each, known.get(each.name, known["D" if not each.measured else "B"]))
        for each in made
    ]
    document["matrix"] = _stated_matrix(matrix)
    return yaml.safe_dump(document, sort_keys=False)


def _priced(each: Made, known: Mapping[str, Any]) -> dict[str, Any]:
    """The candidate's entry; a price that the plan has stated is stated."""
    assumptions = {n: v for n, v in known["assumptions"].items() if n != "price"}
    price = each.price if isinstance(each.price, PriceFacts) else None
    if price is None and each.price is not None:
        assumptions["price"] = f"{each.price:.12g} USD/h"
    elif price is not None and price.stated and price.unit.endswith("/h"):
        assumptions["price"] = f"{price.value:.12g} {price.unit}"
    return {**known, "name": each.name, "assumptions": assumptions}


def _stated_matrix(matrix: MatrixFacts) -> dict[str, Any]:
    """The loads and amounts as a campaign file states them."""
    rates = [p.rate_per_s for p in matrix.load_points if p.is_open]
    found = {
        "concurrency": [p.concurrency for p in matrix.load_points if not p.is_open],
        "rates": "search" if matrix.search_rates else [_with_unit(r, "/s") for r in rates],
        "max_in_flight": next((p.max_in_flight for p in matrix.load_points if p.is_open), None),
        "requests": matrix.requests,
        "duration": _with_unit(matrix.duration_s, "s"),
        "warmup": matrix.warmup,
        "warmup_requests": matrix.warmup_requests,
        "replications": matrix.replications,
        "seed": matrix.seed,
    }
    return _without_none(found)


def stated(contract: ContractFacts) -> dict[str, Any]:
    """The contract as a campaign file states it."""
    slo, offline, demand = contract.slo, contract.offline, contract.demand
    found = {
        "model": contract.model,
        "precision": {"weights": contract.weights, "kv_cache": contract.kv_cache},
        "prompt_tokens": contract.prompt_tokens,
        "output_tokens": contract.output_tokens,
        "output": contract.output,
        "cached_prefix_tokens": contract.cached_prefix_tokens,
        "concurrency": contract.concurrency,
        "rate": _with_unit(contract.rate_per_s, "/s"),
        "offline": offline
        and {
            "tokens_per_hour": _with_unit(offline.tokens_per_hour, "tok/h"),
            "requests_per_hour": _with_unit(offline.requests_per_hour, "/h"),
            "requests": offline.requests,
            "deadline": _with_unit(offline.deadline_s, "s"),
        },
        "slo": {
            "ttft": _with_unit(slo.ttft_ms, "ms"),
            "itl": _with_unit(slo.itl_ms, "ms"),
            "itl_statistic": slo.itl_statistic,
            "ttft_counts": slo.ttft_counts,
            "percentile": slo.percentile,
            "goodput": _with_unit(slo.goodput and slo.goodput * 100, "%"),
        },
        "quality": contract.quality
        and {
            "reference": contract.quality.reference,
            "max_loss": contract.quality.max_loss,
            "margin": _with_unit(contract.quality.margin_points, "points"),
            "tasks": list(contract.quality.tasks),
        },
        "demand": demand
        and {
            "peak": _with_unit(demand.peak_per_s, "/s"),
            "mean": _with_unit(demand.mean_per_s, "/s"),
            "headroom": _with_unit(demand.headroom * 100, "%"),
            "spare": demand.spare,
        },
        "cost_ceiling": _with_unit(contract.cost_ceiling_usd_per_1m, "USD/Mtok"),
    }
    return _without_none(found)


def _with_unit(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:.12g} {unit}"


def _without_none(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(each) if isinstance(each, dict) else each
        for name, each in found.items()
        if each is not None
    }


_CANONICAL = shipped_catalog() / "campaigns" / "canonical.yaml"


@cache
def _catalog() -> tuple[Any, Any]:
    return load_catalog(), load_runtimes()


def _gates(path: Path) -> dict[str, Any]:
    result = screen(load_campaign(path), *_catalog(), NOW.date())
    gates: dict[str, Any] = json.loads(json.dumps(result.to_json(), allow_nan=False))
    return gates


def _seed(plan: RunPlan, point: LoadPoint, replication: int) -> int:
    return int(_digest(str(plan.matrix.seed), point.name, str(replication))[:8], 16)


def launch_fingerprint(name: str) -> str:
    """The fingerprint that a candidate of that name is launched with."""
    return _digest(name)


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def _event(event: str, **facts: Any) -> dict[str, Any]:
    return {"at": NOW.isoformat(), "event": event, **facts}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def priced(usd_per_h: float, **changes: Any) -> PriceFacts:
    """A price of a whole instance, with some of its facts changed."""
    facts = PriceFacts(
        value=usd_per_h, unit="USD/h", basis=Basis.ASSUMPTION, stated=True, sold_as="instance"
    )
    return facts.model_copy(update=changes)

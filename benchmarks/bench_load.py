"""How accurate and how cheap the load process is, against a server that logs the truth.

    python benchmarks/bench_load.py [--streams 256,1024] [--waves 3] [--json OUT]

Compiles stream_server.c, keeps N streams in flight (1024-token prompts, 128 output tokens,
the first after 50 ms, then one each 10 ms) and compares what the load process recorded with
what the server logged when it wrote. A public client runs beside ours where one is
installed.
"""

import argparse
import contextlib
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import public_client

from flows.load.parse import parse_run
from flows.load.plan import Endpoint, PlanHeader, PlannedRequest, Warmup, write_plan
from flows.load.raw import RawRun, read_raw

TTFT_US, GAP_US, TOKENS, PROMPT_TOKENS = 50_000, 10_000, 128, 1024
HERE = Path(__file__).parent
NS_PER_MS = 1e6
TARGETS = {
    ("ttft_error_ms", 256): 2.0,
    ("ttft_error_ms", 1024): 6.0,
    ("gap_error_ms", 256): 0.5,
    ("gap_error_ms", 1024): 0.5,
    ("hot_us_per_chunk", 256): 6.0,
    ("hot_us_per_chunk", 1024): 6.0,
    ("command_us_per_chunk", 256): 10.0,
    ("command_us_per_chunk", 1024): 10.0,
    ("peak_mb", 1024): 150.0,
}


def build(folder: Path) -> Path:
    server = folder / "stream_server"
    source = HERE / "stream_server.c"
    subprocess.run(["gcc", "-O2", "-Wall", "-o", server, source], check=True)
    return server


@contextmanager
def on(cpus: set[int]) -> Iterator[None]:
    """What is started within runs on these processors alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def serving(
    server: Path, log: Path, *, close_after: bool, tokens: int = TOKENS
) -> Iterator[int]:
    """Port of a running server, whose log is there afterwards."""
    command = [server, log, str(TTFT_US), str(GAP_US), str(tokens), str(int(close_after))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline().split()[1])
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def truth(log: Path) -> tuple[np.ndarray, np.ndarray]:
    """Stamps in ns of each stream's request (one) and tokens (TOKENS)."""
    rows = np.fromfile(log, dtype=[("ns", "<i8"), ("stream", "<u4"), ("token", "<i4")])
    streams = int(rows["stream"].max()) + 1
    stamps = np.full((streams, TOKENS + 1), -1, dtype=np.int64)
    stamps[rows["stream"], rows["token"] + 1] = rows["ns"]
    stamps = stamps[(stamps >= 0).all(axis=1)]
    return stamps[:, 0], stamps[:, 1:]


def plan(
    path: Path,
    port: int,
    *,
    requests: int,
    streams: int | None = None,
    rate_per_s: float | None = None,
    tokens: int = TOKENS,
) -> None:
    """Write a closed loop of `streams`, or constant arrivals at `rate_per_s`."""
    draw = random.Random(42)
    url = f"http://127.0.0.1:{port}/v1/completions"
    header = PlanHeader(
        run="bench",
        cell="bench",
        replication=0,
        shard=0,
        seed=42,
        endpoints=(Endpoint(url=url),),
        arrival="closed" if rate_per_s is None else "open",
        concurrency=streams,
        offered_rate=rate_per_s,
        timeout_s=60.0,
        warmup=Warmup(mode="fixed", requests=0),
        measured_requests=requests,
        duration_s=None,
        dialect="completions",
    )
    gap_ns = None if rate_per_s is None else 1e9 / rate_per_s
    write_plan(
        path, header, [planned(number, draw, gap_ns, tokens) for number in range(requests)]
    )


def planned(
    number: int, draw: random.Random, gap_ns: float | None, tokens: int
) -> PlannedRequest:
    body = {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "prompt": [draw.randrange(128_000) for _ in range(PROMPT_TOKENS)],
        "max_tokens": tokens,
        "stream": True,
        "ignore_eos": True,
        "temperature": 0,
    }
    return PlannedRequest(
        sequence=number,
        at_ns=None if gap_ns is None else round(number * gap_ns),
        session=number,
        turn=0,
        think_ns=0,
        endpoint=0,
        prompt_id=number,
        prompt_tokens=PROMPT_TOKENS,
        output_tokens=tokens,
        body=json.dumps(body),
    )


def load_process(plan_path: Path, raw_path: Path) -> tuple[int, resource.struct_rusage]:
    """When it was started (monotonic ns) and what it used, start and writing included."""
    started_ns = time.monotonic_ns()
    command = [sys.executable, "-P", "-m", "flows.load", str(plan_path), str(raw_path)]
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the load process ended with {process.returncode}")
    return started_ns, used


def p(values: np.ndarray, percent: float) -> float:
    return float(np.percentile(values, percent)) / NS_PER_MS


def accuracy(run: RawRun, log: Path) -> dict[str, float]:
    arrived, written = truth(log)
    first = np.array([request.stamps_ns[0] for request in run.requests])
    sent = np.array([request.sent_ns for request in run.requests])
    scheduled = np.array([request.scheduled_ns for request in run.requests])
    gaps = np.concatenate([np.diff(np.array(request.stamps_ns)) for request in run.requests])
    true_ttft, true_gaps = written[:, 0] - arrived, np.diff(written, axis=1)
    streams = [
        int(re.search(rb"cmpl-(\d+)", request.fragments[0])[1]) for request in run.requests
    ]
    delay = first - written[streams, 0]
    return {
        "true_ttft_p95_ms": p(true_ttft, 95),
        "ttft_p95_ms": p(first - sent, 95),
        "ttft_error_ms": abs(p(first - sent, 95) - p(true_ttft, 95)),
        "ttft_from_schedule_p95_ms": p(first - scheduled, 95),
        "true_gap_p99_ms": p(true_gaps, 99),
        "gap_p99_ms": p(gaps, 99),
        "gap_error_ms": abs(p(gaps, 99) - p(true_gaps, 99)),
        "stamp_behind_write_p50_us": p(delay, 50) * 1e3,
        "stamp_behind_write_p99_us": p(delay, 99) * 1e3,
    }


def measure(server: Path, folder: Path, *, streams: int, waves: int) -> dict[str, float]:
    plan_path, raw_path, log = folder / "plan", folder / "raw", folder / "log"
    with serving(server, log, close_after=False) as port:
        plan(plan_path, port, streams=streams, requests=streams * waves)
        started_ns, used = load_process(plan_path, raw_path)
    before_s, before_cpu_s = time.perf_counter(), time.process_time()
    run = read_raw(raw_path)
    read_s = time.perf_counter() - before_s
    parse_run(run)
    home_cpu_s = time.process_time() - before_cpu_s
    parse_s = time.perf_counter() - before_s - read_s
    chunks = sum(len(request.stamps_ns) for request in run.requests)
    command_cpu_s = used.ru_utime + used.ru_stime + home_cpu_s
    failed = sum(request.outcome != "complete" for request in run.requests)
    return {
        "requests": len(run.requests),
        "failed": failed,
        "chunks": chunks,
        "merged_chunks": sum(
            int((np.diff(np.array(request.stamps_ns)) == 0).sum()) for request in run.requests
        ),
        **accuracy(run, log),
        "hot_us_per_chunk": run.client["cpu_s"] / chunks * 1e6,
        "command_us_per_chunk": command_cpu_s / chunks * 1e6,
        "cpu_share": run.client["cpu_share"],
        "peak_mb": used.ru_maxrss / 1024,
        "read_raw_s": read_s,
        "parse_s": parse_s,
        "send_lag_ms_p99": run.client["send_lag_ms_p99"],
        "loop_lag_ms_p99": run.client["loop_lag_ms_p99"],
        "ready_s": (run.started_ns - started_ns) / 1e9,
    }


def ready_for_the_lesson(server: Path, folder: Path) -> float:
    """Seconds from process start to ready to send: 250 requests of 1024 token ids."""
    plan_path, raw_path, log = folder / "plan", folder / "raw", folder / "log"
    with serving(server, log, close_after=False) as port:
        plan(plan_path, port, streams=250, requests=250)
        started_ns, _ = load_process(plan_path, raw_path)
    return (read_raw(raw_path).started_ns - started_ns) / 1e9


def pacing(
    server: Path, folder: Path, *, rate_per_s: float, tokens: int = TOKENS, apart: bool = False
) -> dict[str, float]:
    """Constant arrivals for five seconds: how constant the gaps between sends were.

    `apart` gives server and client a processor each, as a campaign's placement does.
    """
    plan_path, raw_path, log = folder / "plan", folder / "raw", folder / "log"
    cpus = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        with on({cpus[0]} if apart else set(cpus)):
            serve = serving(server, log, close_after=False, tokens=tokens)
            port = stack.enter_context(serve)
        requests = round(5 * rate_per_s)
        plan(plan_path, port, rate_per_s=rate_per_s, requests=requests, tokens=tokens)
        with on({cpus[-1]} if apart else set(cpus)):
            load_process(plan_path, raw_path)
    run = read_raw(raw_path)
    gaps = np.diff(np.array([request.sent_ns for request in run.requests])) / NS_PER_MS
    return {
        "apart": float(apart),
        "rate_per_s": rate_per_s,
        "chunks_per_s": rate_per_s * tokens,
        "cv": float(gaps.std() / gaps.mean()),
        "gap_deviation_ms": float(gaps.std()),
        "gap_deviation_max_ms": float(np.abs(gaps - 1e3 / rate_per_s).max()),
        "send_lag_ms_p99": run.client["send_lag_ms_p99"],
        "cpu_share": run.client["cpu_share"],
    }


def public(server: Path, folder: Path, *, streams: int, waves: int) -> str:
    """One line on what a public client reports under the same load."""
    program = public_client.installed()
    if program is None:
        return "aiperf: not installed (looked on PATH and in AIPERF), so nothing beside ours"
    log, requests = folder / "log", streams * waves
    try:
        with serving(server, log, close_after=False) as port:
            seen = public_client.run_aiperf(
                program, folder, port=port, streams=streams, requests=requests, timeout_s=300
            )
    except (subprocess.SubprocessError, KeyError, ValueError) as error:
        return f"aiperf at {streams} streams: gave no result ({type(error).__name__})"
    arrived, written = truth(log)
    ttft_ms, gap_ms = p(written[:, 0] - arrived, 95), p(np.diff(written, axis=1), 99)
    return (
        f"aiperf at {streams} streams: TTFT p95 {seen['ttft_p95_ms']:.1f} ms, truth"
        f" {ttft_ms:.1f}; gap p99 {seen['gap_p99_ms']:.2f} ms, truth {gap_ms:.2f};"
        f" {seen['cpu_s'] / written.size * 1e6:.1f} µs of CPU per chunk, start included"
    )


def show(results: dict[int, dict[str, float]]) -> None:
    names = list(next(iter(results.values())))
    print(f"{'':28}" + "".join(f"{streams:>12} streams" for streams in results))
    for name in names:
        cells = ""
        for streams, result in results.items():
            target = TARGETS.get((name, streams))
            mark = "" if target is None else f" (≤{target:g})"
            cells += f"{result[name]:>12.3f}{mark:<8}"
        print(f"{name:28}{cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="256,1024")
    parser.add_argument("--waves", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = build(folder)
        results = {
            streams: measure(server, folder, streams=streams, waves=options.waves)
            for streams in map(int, options.streams.split(","))
        }
        show(results)
        ready_s = ready_for_the_lesson(server, folder)
        print(f"\nready to send after {ready_s:.3f} s (250 requests of 1024 tokens, ≤0.5)")
        paces = [
            pacing(server, folder, rate_per_s=rate, tokens=tokens, apart=apart)
            for apart in (False, True)
            for rate, tokens in ((8.0, TOKENS), (20.0, TOKENS), (200.0, 4), (200.0, TOKENS))
        ]
        print(
            "\nconstant arrivals (CV ≤0.01 up to 20/s, deviation of gaps ≤0.2 ms above), first"
            " on shared processors, then each on one of its own (apart 1)"
        )
        for pace in paces:
            print("  ".join(f"{name} {value:.4g}" for name, value in pace.items()))
        for streams in results:
            print(public(server, folder, streams=streams, waves=options.waves))
    if options.json:
        whole = {"streams": results, "ready_s": ready_s, "pacing": paces}
        options.json.write_text(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()

"""How far predictions are off what is then measured, and what they cost.

    python benchmarks/bench_predict.py [--llama] [--requests 60] [--launches 1] [--json OUT]

Rehearsal engine, in virtual time: step times are fitted to closed cells of 1 and 8 streams,
then cells of other loads are predicted and served. The same engine's highest rate that holds
a contract is known from very long cells; a search from a closed loop, with predictions, must
find it with few levels.

``--llama``: llama-server on a dummy ``tiny-llama-110m`` (one thread, eight slots) at 1 to 8
streams through ``runoff compare``: fitted to some, held against the others. Needs the program
on PATH or from ``make engines``, and a quiet machine.

Asked are a median error of 15% at most, a second per rate at most, six levels at most, and no
measured step below a bound.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.virtual_engine import Served, served, verdict
from catalog.lengths import parse_lengths
from catalog.predict import (
    NO_FLOOR,
    TOKENS,
    Engine,
    Fitted,
    Limits,
    Load,
    Question,
    Rows,
    capacity,
    fitted,
    predicted,
    rows_of,
)
from catalog.predict.load import drawn
from catalog.predict.outcome import keeps
from flows.rehearsal.settings import EngineSettings
from flows.rehearsal.stepmodel import StepModel
from flows.search import ended, next_rate
from reports.prediction import seen_of
from reports.records import read_records
from reports.run.read import read_run
from reports.run.search_file import Try

PROMPT, OUTPUT = parse_lengths("uniform:128:768"), parse_lengths("uniform:16:96")
MODEL = StepModel(
    decode_base_ms=8,
    decode_per_sequence_ms=0.2,
    decode_per_context_token_ms=0.0005,
    prefill_base_ms=8,
    prefill_per_token_ms=0.04,
    noise=0.05,
)
LIMITS = Limits(ttft_s=0.5, itl_s=0.030)
FIGURES = ("ttft_p95_ms", "tpot_p95_ms", "itl_p95_ms", "requests_per_s")
SEARCHES = 5
# the largest server of each maker: what no part of one exceeds, a virtual machine neither
WHOLE = {"AuthenticAMD": "amd-epyc-9755-2s", "GenuineIntel": "intel-xeon-6980p-2s"}
ROOT = Path(__file__).parents[1]
LLAMA = """
schema_version: 1
name: held-out
contract:
  model: tiny-llama-110m
  precision: {{weights: float16, kv_cache: float16}}
  prompt_tokens: uniform:16:64
  output_tokens: uniform:8:32
  concurrency: 8
  slo: {{ttft: 10000 ms, itl: 2000 ms}}
candidates:
  - name: f16
    host: local
{device}    runtime: llama_server
    checkpoint: dummy
    settings: {{max_sequences: 8, threads: 1, cpus: [1]}}
matrix: {{concurrency: [1, 2, 3, 4, 6, 8], requests: {requests}, warmup: fixed,
  warmup_requests: 8, replications: {launches}}}
screening: {{unknown: measure}}
calibrate: true
exploratory: true
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--llama", action="store_true")
    arguments.add_argument("--requests", type=int, default=60)
    arguments.add_argument("--launches", type=int, default=1)
    arguments.add_argument("--run", type=Path, help="Cells of a run that is there already.")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    document: dict[str, Any] = {"rehearsal": dict(rehearsals()), "search": dict(searches())}
    if given.run is not None:
        document["llama_server"] = dict(held_out_of(given.run))
    elif given.llama:
        document["llama_server"] = dict(llama(given.requests, given.launches))
    if given.json is not None:
        given.json.write_text(json.dumps(document, indent=1) + "\n")


def rehearsals() -> Iterator[tuple[str, Any]]:
    """Held-out errors under each scheduler, and the time of a prediction."""
    for scheduler in ("chunked", "prefill_first"):
        settings = EngineSettings(scheduler=scheduler, max_num_seqs=32, token_budget=2048)
        engine = Engine(
            policy="mixed" if scheduler == "chunked" else "prefill_first",
            max_sequences=32,
            token_budget=2048,
        )
        question = Question(engine=engine, prompt=PROMPT, output=OUTPUT, limits=LIMITS)
        cells = [
            rows_of(cell(settings, closed(streams), streams).seen(), TOKENS, engine.policy)
            for streams in (1, 8)
        ]
        fit = fitted([c for c in cells if c], None, work=TOKENS, floor=NO_FLOOR)
        most = 32 / cell(settings, closed(32), 9).last_s.max() * 5
        loads = [closed(n) for n in (2, 4, 12, 16)]
        loads += [
            Load(process="poisson", rate_per_s=share * most, requests=400, warm_up=50)
            for share in (0.3, 0.5, 0.7)
        ]
        began_s = time.monotonic()
        expected = [predicted(fit, question, load, seed=3).figures for load in loads]
        each_s = (time.monotonic() - began_s) / len(loads)
        seen = [measures(cell(settings, load, 77 + i), load) for i, load in enumerate(loads)]
        found = errors(
            ({name: each.p50 for name, each in one.items()} for one in expected), seen
        )
        print(f"rehearsal engine, {scheduler}: {each_s:.2f} s per load")
        show(found)
        yield scheduler, {"seconds_per_load": each_s, "errors": found}


def closed(streams: int) -> Load:
    return Load(process="closed", streams=streams, requests=160, warm_up=2 * streams)


def cell(settings: EngineSettings, load: Load, seed: int) -> Served:
    return served(settings, MODEL, drawn(load, PROMPT, OUTPUT, seed), load, seed)


def measures(found: Served, load: Load) -> dict[str, float]:
    """The figures of a served cell, as a summary has them."""
    since = load.warm_up
    gaps = np.concatenate([np.diff(each) for each in found.tokens_s[since:]])
    window_s = found.last_s[since:].max() - found.due_s[since:].min()
    inside = (found.last_s > found.due_s[since:].min()).sum()
    return {
        "ttft_p95_ms": float(np.percentile(found.ttft_s[since:], 95)) * 1e3,
        "tpot_p95_ms": float(np.percentile(found.tpot_s[since:], 95)) * 1e3,
        "itl_p95_ms": float(np.percentile(gaps, 95)) * 1e3,
        "requests_per_s": float(inside / window_s),
    }


def errors(
    expected: Iterable[Mapping[str, float]], seen: Sequence[Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Median and largest error and the bias of each figure, as shares of what was measured."""
    pairs = list(zip(expected, seen, strict=True))
    found = {}
    for name in FIGURES:
        off = [e[name] / s[name] - 1 for e, s in pairs if name in e and s.get(name)]
        if off:
            found[name] = {
                "median": median(map(abs, off)),
                "largest": max(map(abs, off)),
                "bias": median(off),
            }
    return found


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    for name, each in found.items():
        print(
            f"  {name:16} median error {each['median']:6.1%}, largest {each['largest']:6.1%}, "
            f"bias {each['bias']:+6.1%}"
        )


def searches() -> Iterator[tuple[str, Any]]:
    """Searches of an engine's highest rate, with predictions and without.

    One contract is limited by the wait of an engine that is full, whose capacity is known; of
    one that is limited by TPOT long cells tell it.
    """
    full = Engine(max_sequences=4)
    model = StepModel(noise=0.05)
    waits = Question(
        engine=full,
        prompt=parse_lengths(16),
        output=parse_lengths(8),
        limits=Limits(ttft_s=0.3, itl_s=0.1),
    )
    known = model.saturated_requests_per_s(concurrency=4, prompt_tokens=16, output_tokens=8)
    yield from _searched("full engine", Searched(question=waits, model=model), known)
    batch = Question(
        engine=Engine(max_sequences=32, token_budget=2048),
        prompt=PROMPT,
        output=OUTPUT,
        limits=LIMITS,
    )
    slow = Searched(question=batch, model=MODEL)
    yield from _searched("limited by TPOT", slow, slow.highest())


def _searched(title: str, engine: Searched, truth: float) -> Iterator[tuple[str, Any]]:
    for word, predicts in (("predicted", True), ("without prediction", False)):
        found = [engine.search(seed, predicts=predicts) for seed in range(SEARCHES)]
        off = [abs(middle / truth - 1) for middle, _, _ in found if middle is not None]
        models = [abs(rate / truth - 1) for _, _, rate in found if rate is not None]
        levels = [count for _, count, _ in found]
        print(
            f"search, {title}, {word}: capacity {truth:.2f}/s, {len(off)} of {len(found)} "
            f"brackets, middle off by {median(off):.1%} (largest {max(off):.1%}), "
            f"{np.mean(levels):.1f} levels (most {max(levels)})"
            + (
                f"; the model's own rate at the end off by {median(models):.1%}"
                if models
                else ""
            )
        )
        key = f"{title}, {word}"
        yield key, {"capacity_per_s": truth, "off": off, "levels": levels, "model_off": models}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """An engine in virtual time under a contract."""

    question: Question
    model: StepModel

    def served(self, load: Load, seed: int) -> Served:
        engine, question = self.question.engine, self.question
        settings = EngineSettings(
            max_num_seqs=engine.max_sequences, token_budget=engine.token_budget
        )
        requests = drawn(load, question.prompt, question.output, seed)
        return served(settings, self.model, requests, load, seed)

    def rows(self, found: Served) -> Rows | None:
        return rows_of(found.seen(), TOKENS, self.question.engine.policy)

    def highest(self) -> float:
        """The highest rate at which long cells keep the contract, by bisection."""
        low, high = 1.0, 40.0
        for _ in range(9):
            rate = (low + high) / 2
            load = Load(process="poisson", rate_per_s=rate, requests=4000, warm_up=200)
            held = keeps(measures(self.served(load, 5), load), self.question.limits)
            low, high = (rate, high) if held else (low, rate)
        return (low + high) / 2

    def search(self, seed: int, *, predicts: bool) -> tuple[float | None, int, float | None]:
        """The middle of the bracket (None: none), the levels, and the last prediction."""
        limits = self.question.limits
        streams = min(16, self.question.engine.max_sequences)
        load = Load(process="closed", streams=streams, requests=120, warm_up=streams)
        first = self.served(load, 1000 + seed)
        guess = measures(first, load)["requests_per_s"]
        rows, tries, expected = [self.rows(first)], [], None
        while True:
            if predicts:
                asked = Load(process="poisson", requests=400, warm_up=100)
                expected = capacity(fit_of(rows), self.question, asked, guess)
            rate = next_rate(guess, tries, expected)
            if rate is None:
                break
            requests = round(max(118, 60 * (limits.ttft_s or 0) * rate))
            level = Load(process="poisson", rate_per_s=rate, requests=requests, warm_up=100)
            found = self.served(level, 10_000 * (seed + 1) + len(tries))
            rows.append(self.rows(found))
            said = verdict(found, level, limits)
            tries.append(
                Try.model_validate({"rate_per_s": rate, "verdict": said, "records": ""})
            )
        file = ended("engine", tries)
        last = None if expected is None else expected.p50
        if file.highest_held is None or file.lowest_missed is None:
            return None, len(tries), last
        return (file.highest_held + file.lowest_missed) / 2, len(tries), last


def fit_of(rows: Sequence[Rows | None]) -> Fitted:
    return fitted([each for each in rows if each], None, work=TOKENS, floor=NO_FLOOR)


def llama(requests: int, launches: int) -> Iterator[tuple[str, Any]]:
    """Held-out errors on llama-server, measured now."""
    with tempfile.TemporaryDirectory(prefix="runoff-predict-") as name:
        folder = Path(name)
        file = folder / "held-out.yaml"
        maker = re.search(r"vendor_id\s*: (\w+)", Path("/proc/cpuinfo").read_text())
        device = WHOLE.get(maker[1]) if maker else None
        line = f"    device: {device}\n" if device else ""
        file.write_text(LLAMA.format(requests=requests, launches=launches, device=line))
        made = sorted((ROOT / ".llama").glob("*/venv/bin"))
        path = os.pathsep.join([*map(str, made), os.environ.get("PATH", "")])
        (folder / "locks").mkdir()
        environment = {
            **os.environ,
            "PATH": path,
            "RUNOFF_HOME": str(folder / "home"),
            "RUNOFF_LOCKS": str(folder / "locks"),
        }
        command = [sys.executable, "-P", "-m", "flows.cli", "compare", str(file)]
        subprocess.run(command, env=environment, cwd=folder, check=False, capture_output=True)
        runs = sorted((folder / "runs" / "held-out").glob("*/"))
        if not runs:
            print("llama-server: nothing was measured (is it on PATH? make engines)")
            return
        yield from held_out_of(runs[-1])
        yield from over_bounds(file, runs[-1], environment)


def over_bounds(
    campaign: Path, run: Path, environment: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Each closed cell's p95 as a multiple of what paper allows at its own concurrency.

    ``bound``: a whole server of this processor's maker; below 1 one of the two is wrong.
    ``assumption``: the roofline at the rates that the campaign's own calibration measured.
    """
    text, ratios = campaign.read_text(), defaultdict[str, dict[str, float]](dict)
    for cell in read_run(run).summary.candidates[0].cells:
        streams = cell.load_point.removeprefix("closed-")
        place = campaign.with_name(f"{cell.load_point}.yaml")
        place.write_text(text.replace("concurrency: 8", f"concurrency: {streams}"))
        words = [sys.executable, "-P", "-m", "flows.cli", "screen", "--json", str(place)]
        done = subprocess.run(words, env=environment, capture_output=True, check=True)
        gates = {
            each["gate"]: each for each in json.loads(done.stdout)["candidates"][0]["gates"]
        }
        for gate, figure in (("compute", "service_ttft_p95_ms"), ("bandwidth", "tpot_p95_ms")):
            for basis in ("bound", "assumption"):
                paper = gates[gate][basis]
                for one in cell.replications:
                    if paper is not None and one.figures.get(figure):
                        name = f"{figure} at {streams} streams, launch {one.replication}"
                        ratios[basis][name] = one.figures[figure] / paper["value"]
    for basis, found in ratios.items():
        least = min(found, key=found.__getitem__)
        below = sum(ratio < 1 for ratio in found.values())
        print(
            f"llama-server: {below} of {len(found)} measured figures lie below the {basis}; "
            f"the nearest is {found[least]:,.1f} times it ({least})"
        )
    yield "over_paper", dict(ratios)


def held_out_of(run: Path) -> Iterator[tuple[str, Any]]:
    """Errors of a run's closed cells, each predicted from others of it."""
    cells = {
        (each.file.replication, int(each.name.load_point.removeprefix("closed-"))): each
        for each in read_run(run).cells
        if each.name.load_point.startswith("closed-")
    }
    plan = read_run(run).plan
    summary = read_run(run).summary.candidates[0]
    prompt = parse_lengths(plan.contract.prompt_tokens)
    output = parse_lengths(plan.contract.output_tokens)
    engine = Engine(max_sequences=8, token_budget=2048)
    question = Question(engine=engine, prompt=prompt, output=output, limits=LIMITS)
    rows = {
        key: [
            found
            for seen in seen_of(read_records(each.records).columns)
            if (found := rows_of(seen, TOKENS, engine.policy)) is not None
        ]
        for key, each in cells.items()
    }
    streams = sorted({number for _, number in cells})
    for fitted_to in ((1, 8), (1, 4), (2, 6)):
        fit = fit_of([one for n in fitted_to for one in rows.get((0, n), [])])
        held_out = [n for n in streams if n not in fitted_to]
        expected, seen = [], []
        for n in held_out:
            load = Load(process="closed", streams=n, requests=plan.matrix.requests, warm_up=8)
            found = predicted(fit, question, load)
            if found.unknown is None:
                figures = summary.cell(f"closed-{n}").replications[0].figures
                expected.append({name: each.p50 for name, each in found.figures.items()})
                seen.append({name: value for name, value in figures.items() if value})
        named = "+".join(map(str, fitted_to))
        off = errors(expected, seen)
        whole = median(each["median"] for each in off.values())
        print(f"llama-server, fitted to {named} streams, {len(seen)} others: {whole:.1%}")
        show(off)
        yield named, {"errors": off, "median": whole}


if __name__ == "__main__":
    main()

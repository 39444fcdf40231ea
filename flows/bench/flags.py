"""From the words of the command line to the cell that they describe, or to what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.bench.counts import check_counts
from flows.bench.endpoint import checked_endpoint, dialect_of
from flows.bench.lengths import flag_lengths
from flows.bench.spec import (
    Amount,
    CellSpec,
    Content,
    ItlStatistic,
    Load,
    Process,
    SharedPrefix,
    Slo,
    Target,
    WarmupMode,
)
from flows.errors import UsageError
from flows.load.plan import Tls

TIMED_REQUESTS = 200  # the least that a decision rests on
ADAPTIVE_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the user wrote, before any of it is checked; None is a flag left out."""

    endpoints: Sequence[str]
    model: str
    prompt_tokens: str | None = None
    output_tokens: str | None = None
    output: str = "forced"
    concurrency: int | None = None
    arrival_process: Process | None = None
    request_rate: float | None = None
    burstiness: float | None = None
    trace: Path | None = None
    dataset: Path | None = None
    think_time_ms: float = 0.0
    shared_prefix: str | None = None
    num_requests: int | None = None
    duration_s: float | None = None
    warmup: WarmupMode | None = None
    warmup_requests: int | None = None
    ttft_slo_ms: float | None = None
    itl_slo_ms: float | None = None
    itl_statistic: ItlStatistic = "tpot"
    goodput: float | None = None
    seed: int = 42
    temperature: float = 0.0
    timeout_s: float = 600.0
    headers: Sequence[str] = ()
    api_key_env: str | None = None
    insecure: bool = False
    ca_file: Path | None = None
    tokenizer: Path | None = None
    shards: int = 1

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Flags:
        """The flags among the command's options, by their names there."""
        named = {_FIELDS.get(name, name): value for name, value in given.items()}
        known = {name: named[name] for name in cls.__dataclass_fields__}
        return cls(**{**known, "headers": known["headers"] or ()})


_FIELDS = {  # of options whose names tell no unit or number
    "endpoint": "endpoints",
    "header": "headers",
    "think_time": "think_time_ms",
    "duration": "duration_s",
    "ttft_slo": "ttft_slo_ms",
    "itl_slo": "itl_slo_ms",
    "timeout": "timeout_s",
}


def cell_spec(flags: Flags, environ: Mapping[str, str]) -> CellSpec:
    """The cell that the flags describe, replication 0.

    Raises
    ------
    UsageError
        Naming the flag, what was seen and what to write.
    """
    _check_ranges(flags)
    load = _load(flags)
    _refuse_idle_flags(flags, load)
    if flags.shards > (load.concurrency or flags.shards):
        raise UsageError(
            "--shards",
            f"{flags.shards} processes cannot share a concurrency of {load.concurrency}",
            "Use at most one shard per stream",
        )
    spec = CellSpec(
        run="bench",
        cell=_cell_name(load),
        target=_target(flags, environ),
        load=load,
        content=_content(flags),
        amount=_amount(flags, load),
        slo=Slo(
            ttft_ms=flags.ttft_slo_ms,
            itl_ms=flags.itl_slo_ms,
            itl_statistic=flags.itl_statistic,
            goodput=flags.goodput,
        ),
        seed=flags.seed,
        temperature=flags.temperature,
        timeout_s=flags.timeout_s,
        shards=flags.shards,
    )
    check_counts(spec)
    return spec


def _check_ranges(flags: Flags) -> None:
    positive = {
        "--request-rate": flags.request_rate,
        "--burstiness": flags.burstiness,
        "--duration": flags.duration_s,
        "--timeout": flags.timeout_s,
        "--ttft-slo": flags.ttft_slo_ms,
        "--itl-slo": flags.itl_slo_ms,
    }
    for flag, value in positive.items():
        if value is not None and not 0 < value < math.inf:
            raise UsageError(flag, f"{value:g} is not above 0", "Give a positive number")
    if flags.goodput is not None and not 0 < flags.goodput < 1:
        raise UsageError(
            "--goodput", f"{flags.goodput:g} is no share to prove", "Give one below 1, as 0.95"
        )
    for flag, value in (
        ("--temperature", flags.temperature),
        ("--think-time", flags.think_time_ms),
    ):
        if not 0 <= value < math.inf:
            raise UsageError(flag, f"{value:g} is not 0 or above", "Give a number from 0")


def _target(flags: Flags, environ: Mapping[str, str]) -> Target:
    headers = _headers(flags, environ)
    tls = Tls(verify=not flags.insecure, ca=_pem(flags.ca_file))
    endpoints = tuple(checked_endpoint(url, headers, tls) for url in flags.endpoints)
    dialects = {dialect_of(endpoint.url) for endpoint in endpoints}
    if len(dialects) != 1:
        raise UsageError(
            "--endpoint",
            "completions and chat addresses are mixed",
            "Give addresses of one kind: they share one load",
        )
    return Target(endpoints=endpoints, dialect=dialects.pop(), model=flags.model)


def _headers(flags: Flags, environ: Mapping[str, str]) -> dict[str, str]:
    headers = {}
    for number, text in enumerate(flags.headers, start=1):
        name, colon, value = text.partition(":")
        if not colon or not name.strip().isascii() or not text.isprintable():
            # the text may hold a key, so it is not repeated
            raise UsageError(
                f"--header number {number}", "it is not NAME: VALUE", "As in 'X-Team: search'"
            )
        headers[name.strip()] = value.strip()
    if flags.api_key_env is not None:
        key = environ.get(flags.api_key_env, "").strip()
        if not key:
            raise UsageError(
                "--api-key-env",
                f"the variable {flags.api_key_env} is not set",
                "Export it with the server's key as its value",
            )
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _pem(path: Path | None) -> str | None:
    if path is None:
        return None
    if not path.is_file():
        raise UsageError("--ca-file", f"{path} is no file", "Give the authority's PEM file")
    return str(path.resolve())


def _load(flags: Flags) -> Load:
    process = flags.arrival_process or _implied(flags)
    needs = {
        "closed": ("--concurrency", flags.concurrency),
        "trace": ("--trace", flags.trace),
    }
    flag, value = needs.get(process, ("--request-rate", flags.request_rate))
    if value is None:
        seen = f"it is missing, and arrivals are {process}"
        raise UsageError(flag, seen, f"Add it, as in {_EXAMPLE[flag]}")
    return Load(
        process=process,
        rate_per_s=flags.request_rate,
        burstiness=flags.burstiness if flags.burstiness is not None else 1.0,
        concurrency=flags.concurrency,
        trace=flags.trace,
    )


_EXAMPLE = {
    "--concurrency": "--concurrency 16",
    "--trace": "--trace mooncake_trace.jsonl",
    "--request-rate": "--request-rate 8.0",
}


def _implied(flags: Flags) -> Process:
    if flags.trace is not None:
        return "trace"
    return "closed" if flags.request_rate is None else "poisson"


def _refuse_idle_flags(flags: Flags, load: Load) -> None:
    """A flag that would change nothing is an error: its writer expects something of it."""
    idle = {
        "--request-rate": load.process == "closed" and flags.request_rate is not None,
        "--burstiness": load.process != "gamma" and flags.burstiness is not None,
        "--trace": load.process != "trace" and flags.trace is not None,
        "--dataset": load.process == "trace" and flags.dataset is not None,
        "--prompt-tokens": flags.prompt_tokens is not None
        and (flags.trace is not None or flags.dataset is not None),
        "--shared-prefix": flags.shared_prefix is not None
        and (flags.trace is not None or flags.dataset is not None),
        "--think-time": flags.dataset is None and flags.think_time_ms > 0,
    }
    for flag, is_idle in idle.items():
        if is_idle:
            seen = f"it has no meaning with arrivals {load.process}{_with(flags)}"
            raise UsageError(flag, seen, "Leave it out")


def _with(flags: Flags) -> str:
    if flags.dataset is not None:
        return " and --dataset"
    return " and --trace" if flags.trace is not None else ""


def _content(flags: Flags) -> Content:
    output = flags.output_tokens
    if output is None and flags.trace is None and flags.dataset is None:
        output = "128"
    prompt = flag_lengths("--prompt-tokens", flags.prompt_tokens or "1024")
    return Content(
        prompt=prompt,
        output=None if output is None else flag_lengths("--output-tokens", output),
        forced=flags.output == "forced",
        shared=_shared(flags.shared_prefix, prompt.quantile(0.001)),
        dataset=flags.dataset,
        think_ms=flags.think_time_ms,
        tokenizer=flags.tokenizer,
    )


def _shared(text: str | None, shortest: int) -> SharedPrefix | None:
    """``256`` tokens, ``25%`` or ``0.25`` of each prompt."""
    if text is None:
        return None
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if text.isdigit() and 1 <= int(text) < shortest:
        return SharedPrefix(tokens=int(text))
    if not text.isdigit() and 0 < number < 1:
        return SharedPrefix(share=number)
    raise UsageError(
        "--shared-prefix",
        f"{text!r} leaves no prompt of {shortest} tokens with a start of its own",
        "Give tokens, fewer than the shortest prompt has, or a share such as 25%",
    )


def _amount(flags: Flags, load: Load) -> Amount:
    mode: WarmupMode = flags.warmup or (
        "adaptive" if flags.warmup_requests is None else "fixed"
    )
    if mode == "fixed" and flags.warmup_requests is None:
        raise UsageError(
            "--warmup fixed", "it says not how many", "Add --warmup-requests, as in 50"
        )
    warmup = ADAPTIVE_LIMIT if flags.warmup_requests is None else flags.warmup_requests
    if flags.duration_s is not None and flags.num_requests is not None:
        raise UsageError(
            "--duration", "--num-requests is given too", "One of them says how much to measure"
        )
    requests = flags.num_requests
    if requests is None and flags.duration_s is None and load.trace is None:
        requests = warmup + TIMED_REQUESTS
    return Amount(
        requests=requests, duration_s=flags.duration_s, warmup=mode, warmup_requests=warmup
    )


def _cell_name(load: Load) -> str:
    """The load point in words that a file name can carry: ``poisson-8-c16``."""
    parts: list[str] = [load.process]
    if load.rate_per_s is not None:
        parts.append(f"{load.rate_per_s:g}")
    if load.concurrency is not None:
        parts.append(f"c{load.concurrency}")
    return "-".join(parts)

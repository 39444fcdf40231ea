"""``runoff rehearse``: a simulated engine to try a campaign or a client against."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.bench.places import check_place
from flows.errors import ExitCode, Finished, UsageError
from flows.rehearsal import Settings, SettingsError, overlaid
from flows.rehearsal.collect import collected


def _option(text: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, metavar=metavar)


Port = Annotated[int | None, _option("Port on 127.0.0.1; 0 (the default) takes a free one.")]
Model = Annotated[str | None, _option("Name of the served model.")]
Like = Annotated[
    str | None,
    _option(
        "Take on this runtime's metrics, paths and manners.",
        metavar="vllm|sglang|tensorrt_llm|llama_server",
    ),
]
File = Annotated[Path | None, _option("JSON file with any settings (see --show).")]
Assign = Annotated[
    list[str] | None, _option("Any one setting; repeatable.", "--set", metavar="KEY.KEY=VALUE")
]
DecodeMs = Annotated[float | None, _option("Base time of a step that decodes.")]
PerSequenceMs = Annotated[float | None, _option("Added for each decoding sequence.")]
PerContextMs = Annotated[float | None, _option("Added for each token of KV cache read.")]
PrefillMs = Annotated[float | None, _option("Base time of a step that prefills.")]
PerPromptTokenMs = Annotated[float | None, _option("Added for each prompt token computed.")]
Noise = Annotated[float | None, _option("Spread of step times: sigma of their logarithm.")]
SchedulerName = Annotated[
    str | None,
    _option(
        "How prefill and decode share steps; independent: each stream alone.",
        metavar="chunked|prefill_first|independent",
    ),
]
Sequences = Annotated[int | None, _option("Sequences that run together.")]
Budget = Annotated[int | None, _option("Tokens computed per step.")]
Blocks = Annotated[int | None, _option("Blocks of KV cache.")]
PrefixCache = Annotated[
    bool | None, _option("Reuse computed prefixes.", "--prefix-cache/--no-prefix-cache")
]
QueueLimit = Annotated[int | None, _option("Waiting requests beyond which 429 is answered.")]
PerChunk = Annotated[int | None, _option("Tokens in a chunk.")]
KeyVariable = Annotated[
    str | None, _option("Environment variable with the API key to require.")
]
Seed = Annotated[int | None, _option("Same seed, same behaviour.")]
TruthFile = Annotated[
    Path | None, _option("Write here, at the end, when each chunk really went out.")
]
Show = Annotated[bool, _option("Print all settings as JSON and stop.", "--show")]


def command(
    *,
    port: Port = None,
    model: Model = None,
    like: Like = None,
    settings: File = None,
    assign: Assign = None,
    decode_ms: DecodeMs = None,
    decode_per_sequence_ms: PerSequenceMs = None,
    decode_per_context_token_ms: PerContextMs = None,
    prefill_ms: PrefillMs = None,
    prefill_per_token_ms: PerPromptTokenMs = None,
    noise: Noise = None,
    scheduler: SchedulerName = None,
    max_num_seqs: Sequences = None,
    token_budget: Budget = None,
    kv_blocks: Blocks = None,
    prefix_cache: PrefixCache = None,
    queue_limit: QueueLimit = None,
    tokens_per_chunk: PerChunk = None,
    api_key_env: KeyVariable = None,
    seed: Seed = None,
    truth: TruthFile = None,
    show: Show = False,
) -> None:
    """Serve a simulated engine on loopback: OpenAI's API, known times, chosen faults."""
    flags = {
        "port": port,
        "model": model,
        "seed": seed,
        "truth": None if truth is None else str(truth),
        "steps.decode_base_ms": decode_ms,
        "steps.decode_per_sequence_ms": decode_per_sequence_ms,
        "steps.decode_per_context_token_ms": decode_per_context_token_ms,
        "steps.prefill_base_ms": prefill_ms,
        "steps.prefill_per_token_ms": prefill_per_token_ms,
        "steps.noise": noise,
        "engine.scheduler": scheduler,
        "engine.max_num_seqs": max_num_seqs,
        "engine.token_budget": token_budget,
        "engine.kv_blocks": kv_blocks,
        "engine.prefix_cache": prefix_cache,
        "engine.queue_limit": queue_limit,
        "stream.tokens_per_chunk": tokens_per_chunk,
        "identity.api_key": _key(api_key_env),
    }
    try:
        source = None if settings is None else str(settings)
        data = overlaid(collected(like, source, assign or []), _nested(flags))
        _show_or_serve(Settings.from_json(data), show)
    except SettingsError as error:
        raise UsageError("rehearse", str(error), "--show prints every setting") from None


def _show_or_serve(settings: Settings, show: bool) -> None:
    if show:
        sys.stdout.write(json.dumps(_masked(settings), indent=2) + "\n")
        return
    check_place("--truth", settings.truth)
    if _serve(settings):
        raise Finished(ExitCode.INTERRUPTED)


def _serve(settings: Settings) -> int:
    from flows.rehearsal.process import serve  # noqa: PLC0415 - uvloop only where it serves

    return serve(settings)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise UsageError(
            "--api-key-env", f"{variable} is not set", "Export it or leave the flag out"
        )
    return key


def _nested(flags: dict[str, Any]) -> dict[str, Any]:
    """Flags that were given, as settings."""
    nested: dict[str, Any] = {}
    for path, value in flags.items():
        if value is not None:
            *outer, key = path.split(".")
            place = nested
            for name in outer:
                place = place.setdefault(name, {})
            place[key] = value
    return nested


def _masked(settings: Settings) -> dict[str, Any]:
    shown = settings.to_json()
    if shown["identity"]["api_key"] is not None:
        shown["identity"]["api_key"] = "***"
    return shown

"""``runoff rehearse``: a simulated engine to try a campaign or a client against."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.errors import ExitCode, Finished, UsageError
from flows.rehearsal import Settings, SettingsError, overlaid
from flows.rehearsal.collect import collected


def command(
    *,
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; 0 (the default) takes a free one.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the served model.")] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="vllm|sglang|tensorrt_llm|llama_server",
            help="Take on this runtime's metrics, paths and manners.",
        ),
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="JSON file with any settings (see --show).")
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY.KEY=VALUE", help="Any one setting; repeatable."),
    ] = None,
    decode_ms: Annotated[
        float | None, typer.Option(help="Base time of a step that decodes.")
    ] = None,
    decode_per_sequence_ms: Annotated[
        float | None, typer.Option(help="Added for each decoding sequence.")
    ] = None,
    decode_per_context_token_ms: Annotated[
        float | None, typer.Option(help="Added for each token of KV cache that is read.")
    ] = None,
    prefill_ms: Annotated[
        float | None, typer.Option(help="Base time of a step that prefills.")
    ] = None,
    prefill_per_token_ms: Annotated[
        float | None, typer.Option(help="Added for each prompt token computed.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Spread of step times, as sigma of their logarithm.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="chunked|prefill_first|independent",
            help="How prefill and decode share steps; independent: no engine at all.",
        ),
    ] = None,
    max_num_seqs: Annotated[
        int | None, typer.Option(help="Sequences that run together.")
    ] = None,
    token_budget: Annotated[int | None, typer.Option(help="Tokens computed per step.")] = None,
    kv_blocks: Annotated[int | None, typer.Option(help="Blocks of KV cache.")] = None,
    prefix_cache: Annotated[
        bool | None, typer.Option("--prefix-cache/--no-prefix-cache", help="Reuse prefixes.")
    ] = None,
    queue_limit: Annotated[
        int | None, typer.Option(help="Waiting requests beyond which 429 is answered.")
    ] = None,
    tokens_per_chunk: Annotated[int | None, typer.Option(help="Tokens in a chunk.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the API key to require.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same behaviour.")] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="Write here, at the end, when each chunk really went out."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print all settings as JSON and stop.")
    ] = False,
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
        chosen = Settings.from_json(data)
        if show:
            sys.stdout.write(json.dumps(_masked(chosen), indent=2) + "\n")
            return
        code = _serve(chosen)
    except SettingsError as error:
        raise UsageError("runoff rehearse", str(error), "--show prints every setting") from None
    if code:
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

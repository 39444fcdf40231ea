"""The options of ``runoff bench``, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

_LENGTHS = "N, normal:MEAN:SD[:MAX], uniform:MIN:MAX, lognormal:MEDIAN:SIGMA[:MAX] or file:PATH"

Endpoint = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL",
        help="Full address of /v1/completions or /v1/chat/completions; several share the load.",
    ),
]
Model = Annotated[str | None, typer.Option(help="Name of the served model.")]
PromptTokens = Annotated[
    str | None, typer.Option(metavar="LENGTHS", help=f"{_LENGTHS}. Default 1024.")
]
OutputTokens = Annotated[
    str | None,
    typer.Option(
        metavar="LENGTHS",
        help="As --prompt-tokens. Default 128, or what the trace or dataset recorded.",
    ),
]
Output = Annotated[
    Literal["forced", "natural"],
    typer.Option(help="Hold answers to their length, or let the model end them."),
]
Concurrency = Annotated[
    int | None,
    typer.Option(min=1, help="Streams of a closed loop; with a rate, the cap in flight."),
]
ArrivalProcess = Annotated[
    Literal["poisson", "constant", "gamma", "closed", "trace"] | None,
    typer.Option(help="Default: poisson with a rate, trace with a trace, else closed."),
]
RequestRate = Annotated[
    float | None,
    typer.Option(metavar="PER_S", help="Requests (sessions) per second; scales a trace."),
]
Burstiness = Annotated[
    float | None,
    typer.Option(help="Shape of gamma arrivals: below 1 burstier than Poisson."),
]
Trace = Annotated[
    Path | None, typer.Option(help="Mooncake JSON lines or Azure LLM inference CSV.")
]
Dataset = Annotated[
    Path | None,
    typer.Option(help="Conversations: ShareGPT-like JSON, JSON lines or Parquet."),
]
ThinkTime = Annotated[float, typer.Option(metavar="MS", help="Between the turns of a session.")]
SharedPrefix = Annotated[
    str | None,
    typer.Option(metavar="TOKENS|SHARE", help="Start that all prompts share: 256 or 25%."),
]
NumRequests = Annotated[
    int | None,
    typer.Option(min=1, help="Requests in all, warm-up included. Default: 200 more."),
]
Duration = Annotated[
    float | None, typer.Option(metavar="S", help="Measure for so long instead.")
]
Warmup = Annotated[
    Literal["adaptive", "fixed"] | None,
    typer.Option(help="Until medians settle, or a fixed number. Default: adaptive."),
]
WarmupRequests = Annotated[
    int | None,
    typer.Option(min=0, help="Discard so many; with adaptive at most. Default: 100."),
]
Replications = Annotated[
    int, typer.Option(min=1, max=1000, help="Repeat with new prompts and arrivals.")
]
TtftSlo = Annotated[float | None, typer.Option(metavar="MS", help="Limit of the p95 TTFT.")]
ItlSlo = Annotated[
    float | None, typer.Option(metavar="MS", help="Limit of the p95 ITL statistic.")
]
ItlStatistic = Annotated[
    Literal["tpot", "p95_gap", "max_gap"], typer.Option(help="Which ITL is limited.")
]
Goodput = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Share of compliant requests to prove: 0.95."),
]
Seed = Annotated[int, typer.Option(min=0, help="Equal seeds ask equal things at equal times.")]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
Timeout = Annotated[float, typer.Option(metavar="S", help="Per request.")]
Header = Annotated[
    list[str] | None, typer.Option(metavar="NAME:VALUE", help="Sent with each request.")
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Environment variable that holds the API key."),
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept any TLS certificate.")]
CaFile = Annotated[
    Path | None, typer.Option(metavar="PEM", help="Authority of the TLS certificate.")
]
Tokenizer = Annotated[
    Path | None,
    typer.Option(help="tokenizer.json; not needed for prompts of token ids."),
]
Shards = Annotated[int, typer.Option(min=1, help="Load processes with independent streams.")]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="A Dask scheduler: each shard on a worker of its own."
    ),
]
JsonOut = Annotated[
    str | None,
    typer.Option("--json", metavar="PATH|-", help="Summary as JSON; - is stdout."),
]
Raw = Annotated[Path | None, typer.Option(metavar="PARQUET", help="Keep the request records.")]
Calibrate = Annotated[
    bool,
    typer.Option("--calibrate", help="Measure this client itself, on this machine."),
]

"""``runoff bench``: a load test of any OpenAI-compatible endpoint that proves itself."""

from __future__ import annotations

import os

from flows.bench import options
from flows.errors import UsageError


def command(
    *,
    endpoint: options.Endpoint = None,
    model: options.Model = None,
    prompt_tokens: options.PromptTokens = None,
    output_tokens: options.OutputTokens = None,
    output: options.Output = "forced",
    concurrency: options.Concurrency = None,
    arrival_process: options.ArrivalProcess = None,
    request_rate: options.RequestRate = None,
    burstiness: options.Burstiness = None,
    trace: options.Trace = None,
    dataset: options.Dataset = None,
    think_time: options.ThinkTime = 0.0,
    shared_prefix: options.SharedPrefix = None,
    num_requests: options.NumRequests = None,
    duration: options.Duration = None,
    warmup: options.Warmup = None,
    warmup_requests: options.WarmupRequests = None,
    replications: options.Replications = 1,
    ttft_slo: options.TtftSlo = None,
    itl_slo: options.ItlSlo = None,
    itl_statistic: options.ItlStatistic = "tpot",
    goodput: options.Goodput = None,
    seed: options.Seed = 42,
    temperature: options.Temperature = 0.0,
    timeout: options.Timeout = 600.0,
    header: options.Header = None,
    api_key_env: options.ApiKeyEnv = None,
    insecure: options.Insecure = False,
    ca_file: options.CaFile = None,
    tokenizer: options.Tokenizer = None,
    shards: options.Shards = 1,
    dask: options.Dask = None,
    json_out: options.JsonOut = None,
    raw: options.Raw = None,
    calibrate: options.Calibrate = False,
) -> None:
    """Measure latency, throughput and goodput of an endpoint under a stated load.

    Exit code 0: valid and the contract holds; 4: it is missed; 5: inconclusive; 7: the
    measurement is not valid; 8: the server cannot be measured.
    """
    given = dict(locals())
    from flows.bench import session  # noqa: PLC0415  (--help needs no numpy)

    if calibrate:
        session.run_calibration(json_out)
        return
    if not endpoint:
        raise UsageError("--endpoint", "it is missing", "Give the address to measure")
    if model is None:
        raise UsageError("--model", "it is missing", "Give the name that the server serves")
    session.run_cells(given, os.environ)

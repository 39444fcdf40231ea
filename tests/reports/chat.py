"""The chat that runs made for tests are about: its contract, its load, its matrix."""

from __future__ import annotations

from reports.run.plan_file import ContractFacts, LoadPoint, MatrixFacts, SloFacts

CONTRACT = ContractFacts(
    model="meta-llama/Meta-Llama-3-8B-Instruct",
    weights="bfloat16",
    kv_cache="bfloat16",
    prompt_tokens="1024",
    output_tokens="128",
    output="forced",
    concurrency=16,
    slo=SloFacts(ttft_ms=1000, itl_ms=25, goodput=0.95),
)
POINT = LoadPoint(name="closed-16", process="closed", concurrency=16)
MATRIX = MatrixFacts(
    load_points=(POINT,),
    decision_point=POINT.name,
    requests=200,
    warmup="adaptive",
    warmup_requests=100,
    replications=5,
    seed=42,
)

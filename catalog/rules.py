"""The lesson's Decision Matrix: which of its four rules applies to a candidate.

The text is chosen by rule from the candidate's kind; each says when to select and when to
reject, with the limits that the lesson gives.
"""

from __future__ import annotations

from catalog.placement import Placement

_CPU = (
    "Decision rule 1, server CPU: select it for offline or sparse work, or where more than "
    "256 GB of memory hold a large model; reject it for interactive streaming (ITL of 30 ms "
    "or less at 8 streams or more), which its memory bus cannot keep."
)
_ONE_DEVICE = (
    "Decision rule 2, one high-bandwidth device: select it where strict streaming limits "
    "(ITL of 25 ms, TTFT of 1 s) must hold and weights, KV cache and workspace fit in its "
    "memory; reject it where they do not."
)
_TENSOR_PARALLEL = (
    "Decision rule 3, tensor parallelism: select it where one device cannot hold the model, "
    "or an ITL of 10 ms or less needs the bandwidth of several over a fast link; reject it "
    "where one device already keeps the contract."
)
_RUNTIMES = {
    "vllm": (
        "vLLM and SGLang fit services with many tenants: continuous batching, paged KV cache, "
        "chunked prefill, prefix caching."
    ),
    "tensorrt_llm": (
        "Triton with TensorRT-LLM fits standard NVIDIA pipelines that compile ahead of time "
        "or need tuned low-bit kernels."
    ),
    "llama_server": (
        "llama-server fits one tenant, edge devices, Apple silicon and light CPU hosts with "
        "GGUF checkpoints."
    ),
}
_RUNTIMES["sglang"] = _RUNTIMES["vllm"]


def hardware_rule(placement: Placement) -> str:
    """Rule 1, 2 or 3 of the matrix, by the candidate's device and degree."""
    if placement.k > 1:
        return _TENSOR_PARALLEL
    return _CPU if placement.is_cpu else _ONE_DEVICE


def runtime_rule(placement: Placement) -> str:
    """Rule 4 of the matrix, for the candidate's runtime."""
    runtime = placement.runtime
    fit = _RUNTIMES.get(runtime.name, f"{runtime.tradeoffs.best_production_fit}.")
    return f"Decision rule 4, {runtime.title}: {fit}"

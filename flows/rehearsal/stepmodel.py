"""How long one engine step takes, from given numbers or from a device's physics."""

from __future__ import annotations

from dataclasses import dataclass

from flows.rehearsal.checked import bounded, check


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """Linear step-time model of a continuous-batching engine, all times in milliseconds.

    step = max(decode base if anything decodes, prefill base if anything is prefilled)
         + per sequence x decoding sequences + per context token x their KV tokens
         + per prefill token x prompt tokens computed in this step
    and then multiplied by exp(noise x z), z standard normal.
    """

    decode_base_ms: float = bounded(5.0, low=0)
    decode_per_sequence_ms: float = bounded(0.05, low=0)
    decode_per_context_token_ms: float = bounded(0.0, low=0)
    prefill_base_ms: float = bounded(5.0, low=0)
    prefill_per_token_ms: float = bounded(0.01, low=0)
    noise: float = bounded(0.0, low=0, high=1)

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def from_physics(
        cls,
        *,
        weights_bytes: float,
        bandwidth_bytes_per_s: float,
        kv_bytes_per_token: float,
        prefill_flops_per_token: float,
        flops_per_s: float,
        efficiency: float = 1.0,
        noise: float = 0.0,
    ) -> StepModel:
        """Model of a device that reads all weights and the KV cache once per step.

        Memory and compute times add up, so that no step is faster than the larger of the
        two. `efficiency` is the achieved share of both peak rates.
        """
        read_ms_per_byte = 1e3 / (bandwidth_bytes_per_s * efficiency)
        weights_ms = weights_bytes * read_ms_per_byte
        return cls(
            decode_base_ms=weights_ms,
            decode_per_sequence_ms=0.0,
            decode_per_context_token_ms=kv_bytes_per_token * read_ms_per_byte,
            prefill_base_ms=weights_ms,
            prefill_per_token_ms=prefill_flops_per_token * 1e3 / (flops_per_s * efficiency),
            noise=noise,
        )

    def step_ms(
        self, *, decode_sequences: int, context_tokens: int, prefill_tokens: int
    ) -> float:
        """Milliseconds of a step without noise: 0.0 for an empty one."""
        base = self.decode_base_ms if decode_sequences else 0.0
        if prefill_tokens:
            base = max(base, self.prefill_base_ms)
        return (
            base
            + self.decode_per_sequence_ms * decode_sequences
            + self.decode_per_context_token_ms * context_tokens
            + self.prefill_per_token_ms * prefill_tokens
        )

    def saturated_requests_per_s(
        self, *, concurrency: int, prompt_tokens: int, output_tokens: int
    ) -> float:
        """Requests/s of a chunked-prefill batch that always holds `concurrency` equal ones.

        The step that ends a prompt gives the first token, so a request lives for
        `output_tokens` steps, shared by all, and decodes in all but the first. Exact where
        both bases are equal, the token budget holds all prompts at once and nothing is
        cached or preempted; then it is the engine's capacity at its largest batch.
        """
        decodes = output_tokens - 1
        context_tokens = decodes * prompt_tokens + decodes * output_tokens / 2
        request_ms = (
            output_tokens * max(self.decode_base_ms, self.prefill_base_ms) / concurrency
            + self.decode_per_sequence_ms * decodes
            + self.decode_per_context_token_ms * context_tokens
            + self.prefill_per_token_ms * prompt_tokens
        )
        return 1e3 / request_ms

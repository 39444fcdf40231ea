"""Step times from numbers and from physics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.rehearsal import SettingsError, StepModel

LLAMA_3_8B_ON_A100 = StepModel.from_physics(
    weights_bytes=15.0098e9,
    bandwidth_bytes_per_s=2039e9,
    kv_bytes_per_token=131072,
    prefill_flops_per_token=14.570e12 / 1024,
    flops_per_s=312e12,
)


def test_a_step_adds_its_base_its_sequences_their_context_and_its_prompt_tokens():
    model = StepModel(
        decode_base_ms=10,
        decode_per_sequence_ms=0.5,
        decode_per_context_token_ms=0.001,
        prefill_base_ms=20,
        prefill_per_token_ms=0.03,
    )

    def step(sequences, context, prompt):
        return model.step_ms(
            decode_sequences=sequences, context_tokens=context, prefill_tokens=prompt
        )

    assert step(0, 0, 0) == 0
    assert step(4, 1000, 0) == 10 + 2 + 1
    assert step(0, 0, 100) == pytest.approx(20 + 3)
    assert step(4, 1000, 100) == pytest.approx(20 + 2 + 1 + 3)


def test_a_decode_step_of_sixteen_streams_on_an_a100_takes_its_memory_bound():
    milliseconds = LLAMA_3_8B_ON_A100.step_ms(
        decode_sequences=16, context_tokens=16 * 1088, prefill_tokens=0
    )

    assert milliseconds == pytest.approx(8.48, abs=0.005)


def test_a_prefill_step_is_not_faster_than_its_compute_or_its_weights():
    milliseconds = LLAMA_3_8B_ON_A100.step_ms(
        decode_sequences=0, context_tokens=0, prefill_tokens=1024
    )

    assert milliseconds == pytest.approx(46.7 + 7.36, abs=0.05)


@given(
    efficiency=st.floats(0.1, 1),
    sequences=st.integers(0, 64),
    context=st.integers(0, 10**6),
    prompt=st.integers(0, 10**5),
)
def test_no_step_beats_its_physical_bound(efficiency, sequences, context, prompt):
    model = StepModel.from_physics(
        weights_bytes=1e10,
        bandwidth_bytes_per_s=1e12,
        kv_bytes_per_token=1e5,
        prefill_flops_per_token=1e10,
        flops_per_s=1e14,
        efficiency=efficiency,
    )
    context = context if sequences else 0

    step = model.step_ms(
        decode_sequences=sequences, context_tokens=context, prefill_tokens=prompt
    )

    read_ms = (1e10 + context * 1e5) / 1e12 * 1e3 if sequences or prompt else 0.0
    compute_ms = prompt * 1e10 / 1e14 * 1e3
    assert step * (1 + 1e-9) >= max(read_ms, compute_ms)


def test_a_negative_time_is_refused():
    with pytest.raises(SettingsError, match="decode_base_ms is -1: needs at least 0"):
        StepModel(decode_base_ms=-1)


def test_capacity_of_one_stream_is_the_reciprocal_of_its_life():
    model = StepModel(
        decode_base_ms=10,
        prefill_base_ms=10,
        decode_per_sequence_ms=0,
        prefill_per_token_ms=0.1,
    )

    rate = model.saturated_requests_per_s(concurrency=1, prompt_tokens=100, output_tokens=5)

    assert rate == pytest.approx(1 / 0.060)

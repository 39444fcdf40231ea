from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catalog.architecture import (
    UnknownArchitecture,
    decode_flops,
    heads_divide,
    kv_bytes_per_token,
    kv_precision,
    kv_precisions,
    kv_read_bytes,
    kv_resident_bytes,
    kv_write_bytes,
    lesson_prefill_flops,
    lesson_step_bytes,
    mtp_parameters,
    parameters,
    precision,
    prefill_flops,
    read_bytes_per_step,
    read_config,
    state_bytes_per_stream,
    weight_bytes,
    weight_bytes_per_rank,
    weight_precisions,
)

CONFIGS = {
    path.stem: yaml.safe_load(path.read_text())["config"]
    for path in sorted((Path(__file__).parents[3] / "catalog" / "models").glob("*.yaml"))
}
MODELS = {slug: read_config(config) for slug, config in CONFIGS.items()}
PLAIN = CONFIGS["llama-3-8b"]
archs = st.sampled_from(sorted(MODELS)).map(MODELS.__getitem__)
schemes = st.sampled_from(weight_precisions()).map(precision)
caches = st.sampled_from(kv_precisions()).map(kv_precision)
batches = st.integers(1, 512)
contexts = st.integers(0, 200_000)
ranks = st.integers(1, 64)


@given(archs, st.lists(st.integers(1, 5000), min_size=1, max_size=8), contexts)
def test_chunks_of_a_prefill_sum_to_the_whole_exactly(arch, chunks, cached):
    whole = prefill_flops(arch, sum(chunks), cached)
    parts = 0
    for number, chunk in enumerate(chunks, start=1):
        parts += prefill_flops(arch, chunk, cached, head=number == len(chunks))
        cached += chunk

    assert parts == whole


@given(archs, contexts, contexts, caches, ranks)
def test_a_longer_context_never_costs_less(arch, first, second, kv, k):
    short, long = sorted((first, second))

    assert kv_read_bytes(arch, kv, short, k) <= kv_read_bytes(arch, kv, long, k)
    assert kv_resident_bytes(arch, kv, short, k) <= kv_resident_bytes(arch, kv, long, k)
    assert decode_flops(arch, short) <= decode_flops(arch, long)
    assert prefill_flops(arch, 100, short) <= prefill_flops(arch, 100, long)


@given(archs, st.integers(1, 10_000), st.integers(1, 10_000), contexts)
def test_a_longer_prompt_costs_more(arch, first, more, cached):
    assert prefill_flops(arch, first, cached) < prefill_flops(arch, first + more, cached)


@given(archs, schemes, batches, batches, st.sampled_from(["bound", "prediction", "lesson"]))
def test_a_larger_batch_never_reads_fewer_weights(arch, scheme, first, second, mode):
    small, large = sorted((first, second))

    assert read_bytes_per_step(arch, scheme, small, mode) <= read_bytes_per_step(
        arch, scheme, large, mode
    )


@given(archs, schemes, batches)
def test_the_bound_reads_least_and_the_lesson_most(arch, scheme, batch):
    bound, prediction, lesson = (
        read_bytes_per_step(arch, scheme, batch, mode)
        for mode in ("bound", "prediction", "lesson")
    )

    assert 0 < bound <= prediction <= lesson == weight_bytes(arch, scheme)


@given(archs, caches, schemes, batches, contexts)
def test_a_bounded_step_never_moves_more_than_the_lessons(arch, kv, scheme, batch, context):
    state = state_bytes_per_stream(arch)
    bound = read_bytes_per_step(arch, scheme, batch, "bound")
    bound += batch * (kv_read_bytes(arch, kv, context) - state)

    assert bound <= lesson_step_bytes(arch, scheme, kv, batch, context)


@given(archs, st.integers(1, 100_000))
def test_a_bounded_prompt_never_takes_more_flops_than_the_lessons(arch, prompt):
    diagonal = sum(n * mixer.flops_per_key for n, mixer in arch.mixers) * prompt // 2

    assert prefill_flops(arch, prompt) <= (
        lesson_prefill_flops(arch, prompt) + diagonal + 2 * arch.vocabulary * arch.width
    )


@given(archs, schemes, ranks)
def test_ranks_together_hold_at_least_the_whole_model(arch, scheme, k):
    each = weight_bytes_per_rank(arch, scheme, k)

    assert each * k >= weight_bytes(arch, scheme)
    assert each <= weight_bytes(arch, scheme)


@given(archs, caches, contexts, ranks)
def test_ranks_together_cache_at_least_the_whole_stream(arch, kv, context, k):
    assert k * kv_resident_bytes(arch, kv, context, k) >= kv_resident_bytes(arch, kv, context)
    assert kv_read_bytes(arch, kv, context, k) >= kv_read_bytes(arch, kv, context)
    assert kv_write_bytes(arch, kv, k) >= kv_write_bytes(arch, kv)
    assert k * state_bytes_per_stream(arch, k) >= state_bytes_per_stream(arch)


@given(archs, caches, st.integers(1, 200_000), st.integers(1, 128), st.integers(1, 16_384))
def test_an_engine_sets_aside_at_least_the_bound(arch, kv, context, block, budget):
    bound = kv_resident_bytes(arch, kv, context, block_tokens=block)
    engine = kv_resident_bytes(
        arch, kv, context, block_tokens=block, rule="engine", batched_tokens=budget
    )
    blocks = -(-context // block) * block
    full = blocks * kv_bytes_per_token(arch, kv) + state_bytes_per_stream(arch)

    assert kv_resident_bytes(arch, kv, context) <= bound <= engine <= full


@given(archs, schemes)
def test_quantisation_with_scales_never_grows_a_checkpoint(arch, scheme):
    held = weight_bytes(arch, scheme)
    wide_vectors = 2 * (arch.whole.norms + arch.whole.vectors + arch.whole.routers)

    assert parameters(arch) / 2 < held <= 2 * parameters(arch) + wide_vectors


@pytest.mark.parametrize("slug", MODELS)
def test_one_rank_always_divides(slug):
    assert heads_divide(MODELS[slug], 1) is None


@given(archs, schemes)
def test_prediction_layers_only_add(arch, scheme):
    grown = weight_bytes(arch, scheme, mtp=True) - weight_bytes(arch, scheme)

    assert (grown > 0) == (mtp_parameters(arch) > 0)


sizes = st.integers(1, 64)


@st.composite
def plain_configs(draw):
    kv = draw(st.integers(1, 8))
    return {
        "model_type": draw(st.sampled_from(["llama", "qwen2", "qwen3", "phi3"])),
        "hidden_size": draw(sizes) * 8,
        "num_hidden_layers": draw(st.integers(1, 12)),
        "num_attention_heads": kv * draw(st.integers(1, 8)),
        "num_key_value_heads": kv,
        "head_dim": draw(sizes),
        "intermediate_size": draw(sizes) * 8,
        "vocab_size": draw(st.integers(1, 10_000)),
        "max_position_embeddings": 4096,
        "tie_word_embeddings": draw(st.booleans()),
    }


@given(plain_configs())
def test_parameters_follow_the_closed_formula(config):
    arch = read_config(config)
    width, layers, dim = (
        config[name] for name in ("hidden_size", "num_hidden_layers", "head_dim")
    )
    queries = config["num_attention_heads"] * dim
    keys = config["num_key_value_heads"] * dim
    extra = {"qwen2": queries + 2 * keys, "qwen3": 2 * dim}.get(config["model_type"], 0)
    layer = 2 * width * (queries + keys) + 3 * width * config["intermediate_size"]
    tables = 1 if config["tie_word_embeddings"] else 2

    assert parameters(arch) == (
        layers * (layer + 2 * width + extra) + width + tables * config["vocab_size"] * width
    )


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)
)
def test_a_field_of_any_value_is_counted_or_makes_the_model_unknown(value):
    for field in PLAIN:
        with suppress(UnknownArchitecture):
            assert parameters(read_config(PLAIN | {field: value})) > 0

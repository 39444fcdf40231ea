import pytest

from catalog.architecture import (
    active_parameters,
    embedding_parameters,
    expert_share,
    head_parameters,
    mtp_parameters,
    norm_parameters,
    parameters,
    precision,
    read_bytes_per_step,
    read_config,
    weight_bytes,
    weight_bytes_per_rank,
)

GIB = 2**30


def test_llama_weighs_14_9575_gib_and_reads_15_0098_gb(llama, bf16):
    assert weight_bytes(llama, bf16) == 16_060_522_496
    assert round(weight_bytes(llama, bf16) / GIB, 4) == 14.9575
    assert round(read_bytes_per_step(llama, bf16, 16, "bound") / 1e9, 4) == 15.0098


def test_an_untied_model_has_a_table_at_each_end(llama):
    assert embedding_parameters(llama) == head_parameters(llama) == 128_256 * 4096
    assert norm_parameters(llama) == 65 * 4096


def test_a_tied_table_is_read_once_as_the_head(model, bf16):
    small = model("llama-3.2-1b")

    assert head_parameters(small) == 0
    assert read_bytes_per_step(small, bf16, 1, "bound") == weight_bytes(small, bf16)
    assert round(weight_bytes(small, bf16) / 1e9, 4) == 2.4716


@pytest.mark.parametrize(
    ("slug", "active"),
    [
        ("qwen3-30b-a3b", 3_353_032_704),
        ("mixtral-8x7b", 12_879_925_248),
        ("deepseek-v3", 37_552_297_472),
        ("qwen3-coder-next", 3_874_929_408),
        ("llama-3-8b", 8_030_261_248),
    ],
)
def test_golden_active_parameters(model, slug, active):
    assert active_parameters(model(slug)) == active


@pytest.mark.parametrize(
    ("slug", "active"), [("deepseek-v3", 36_625_618_432), ("gpt-oss-20b", 3_608_307_264)]
)
def test_golden_active_parameters_without_the_input_embedding(model, slug, active):
    arch = model(slug)

    assert active_parameters(arch) - embedding_parameters(arch) == active


def test_deepseek_prediction_layer_brings_tables_of_its_own(model, bf16):
    arch = model("deepseek-v3")
    both = parameters(arch) + mtp_parameters(arch)

    assert both == 684_489_845_504
    assert weight_bytes(arch, bf16, mtp=True) == 2 * both


@pytest.mark.parametrize(
    ("name", "gigabytes", "read"),
    [
        ("awq_int4", 5.728, 4.677),
        ("gptq_int4", 5.701, 4.650),
        ("fp8", 9.081, 8.031),
        ("fp8_block", 9.083, 8.032),
        ("mxfp4", 5.810, 4.759),
        ("nvfp4", 6.028, 4.977),
    ],
)
def test_golden_quantised_sizes_of_llama(llama, name, gigabytes, read):
    scheme = precision(name)

    assert round(weight_bytes(llama, scheme) / 1e9, 3) == gigabytes
    assert round(read_bytes_per_step(llama, scheme, 1, "bound") / 1e9, 3) == read


@pytest.mark.parametrize(
    ("name", "average_bits", "gibibytes"),
    [
        ("gguf_q4_k_m", 4.8944, 4.58),
        ("gguf_q5_k_m", 5.7036, 5.33),
        ("gguf_q6_k", 6.5633, 6.14),
        ("gguf_q8_0", 8.5008, 7.95),
        ("gguf_f16", 16.0005, 14.96),
    ],
)
def test_golden_gguf_sizes_of_llama(llama, name, average_bits, gibibytes):
    held = weight_bytes(llama, precision(name))

    assert round(8 * held / parameters(llama), 4) == average_bits
    assert round(held / GIB, 2) == gibibytes


def test_a_bound_counts_an_inexact_gguf_mixture_at_its_least_bits(llama):
    mixed = precision("gguf_q4_k_m")
    bound = read_bytes_per_step(llama, mixed, 1, "bound")
    linear = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14_336)

    assert not mixed.exact
    assert bound == linear * 4.5 / 8 + 128_256 * 4096 * 6.5625 / 8 + 65 * 4096 * 4
    assert weight_bytes(llama, mixed, floor=True) < weight_bytes(llama, mixed)


@pytest.mark.parametrize(
    ("slug", "checkpoint_bytes"),
    [("gpt-oss-20b", 13_761_264_768), ("gpt-oss-120b", 65_248_815_744)],
)
def test_mxfp4_with_experts_alone_quantised_is_the_published_checkpoint(
    model, slug, checkpoint_bytes
):
    assert weight_bytes(model(slug), precision("mxfp4")) == checkpoint_bytes


def test_blockwise_fp8_comes_within_a_fiftieth_of_a_percent_of_deepseeks_files(model):
    held = weight_bytes(model("deepseek-v3"), precision("fp8_block"), mtp=True)

    assert held == pytest.approx(688_586_727_753, rel=2e-4)


def test_mxfp4_of_gpt_oss_20b_is_12_82_gib(model):
    held = weight_bytes(model("gpt-oss-20b"), precision("mxfp4"))

    assert round(held / GIB, 2) == 12.82


@pytest.mark.parametrize(
    ("slug", "batch", "distinct", "experts"),
    [
        ("mixtral-8x7b", 4, 5.47, 8),
        ("mixtral-8x7b", 16, 7.92, 8),
        ("qwen3-30b-a3b", 16, 82.4, 128),
        ("deepseek-v3", 64, 222, 256),
        ("gpt-oss-120b", 16, 51, 128),
    ],
)
def test_golden_expected_distinct_experts(model, slug, batch, distinct, experts):
    expected = expert_share(model(slug), batch, "prediction") * experts
    digits = 2 if distinct < 10 else 1 if distinct < 100 and distinct % 1 else 0

    assert round(expected, digits) == distinct


def test_qwen3_moe_reads_between_6_08_and_60_4_gb_at_sixteen_streams(model, bf16):
    arch = model("qwen3-30b-a3b")
    ceiling = weight_bytes(arch, bf16) - 2 * embedding_parameters(arch)

    assert round(read_bytes_per_step(arch, bf16, 16, "bound") / 1e9, 2) == 6.08
    assert round(read_bytes_per_step(arch, bf16, 16, "prediction") / 1e9, 1) == 39.8
    assert round(ceiling / 1e9, 1) == 60.4


def test_the_lesson_reads_every_parameter(model, bf16):
    arch = model("qwen3-30b-a3b")

    assert read_bytes_per_step(arch, bf16, 1, "lesson") == 2 * parameters(arch)


def test_two_ranks_hold_half_of_llama_each(llama, bf16):
    assert weight_bytes_per_rank(llama, bf16, 2) * 2 == weight_bytes(llama, bf16)


def test_sixteen_ranks_hold_the_rows_of_eight_kv_heads_twice(model, bf16):
    arch = model("llama-3.1-70b")
    again = 80 * 2 * 8192 * 8 * 128 * 2

    assert weight_bytes_per_rank(arch, bf16, 16) * 16 == weight_bytes(arch, bf16) + again


def test_a_dense_model_reads_all_its_experts(llama):
    assert expert_share(llama, 1, "bound") == 1.0


def test_the_embedding_of_a_tied_gguf_is_stored_as_the_head(config):
    tied = read_config(config("llama-3-8b") | {"tie_word_embeddings": True})
    scheme = precision("gguf_q4_k_m")
    linear = (parameters(tied) - 65 * 4096 - 128_256 * 4096) * scheme.linear_bits / 8

    table = weight_bytes(tied, scheme) - linear - 65 * 4096 * 4

    assert round(table) == round(128_256 * 4096 * 6.5625 / 8)

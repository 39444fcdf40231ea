import pytest

from catalog.architecture import (
    kv_bytes_per_token,
    kv_precision,
    kv_read_bytes,
    kv_resident_bytes,
    kv_write_bytes,
    read_bytes_per_step,
    read_config,
    state_bytes_per_stream,
    weight_bytes,
)

GIB = 2**30
MIB = 2**20


def test_kv_of_sixteen_streams_is_2_25_gib(llama, kv16):
    assert 16 * kv_resident_bytes(llama, kv16, 1152) == 2_415_919_104


def test_the_memory_floor_of_sixteen_streams_is_17_0825_gib(llama, bf16, kv16):
    floor = weight_bytes(llama, bf16) + 16 * kv_resident_bytes(llama, kv16, 1088)

    assert round(floor / GIB, 4) == 17.0825


def test_a_step_of_sixteen_streams_moves_17_2916_gb_and_17_2936_with_the_write(
    llama, bf16, kv16
):
    reads = read_bytes_per_step(llama, bf16, 16, "bound")
    reads += 16 * kv_read_bytes(llama, kv16, 1088)

    assert round(reads / 1e9, 4) == 17.2916
    assert round((reads + 16 * kv_write_bytes(llama, kv16)) / 1e9, 4) == 17.2936


def test_a_step_of_the_exercise_moves_15_682_gb(llama, bf16, kv16):
    stream = kv_read_bytes(llama, kv16, 640) + kv_write_bytes(llama, kv16)
    step = read_bytes_per_step(llama, bf16, 8, "bound") + 8 * stream

    assert round(step / 1e9, 3) == 15.682


def test_a_latent_cache_in_each_precision(model):
    arch = model("deepseek-v3")

    assert kv_bytes_per_token(arch, kv_precision("bfloat16")) == 70_272
    assert kv_bytes_per_token(arch, kv_precision("fp8")) == 35_136
    assert kv_bytes_per_token(arch, kv_precision("fp8_ds_mla")) == 40_016


def test_every_rank_reads_a_latent_cache_whole(model, kv16):
    arch = model("deepseek-v3")

    assert kv_read_bytes(arch, kv16, 1000, 8) == 8 * kv_read_bytes(arch, kv16, 1000)
    assert kv_resident_bytes(arch, kv16, 1000, 8) == kv_resident_bytes(arch, kv16, 1000)


def test_sixteen_ranks_keep_eight_kv_heads_twice(model, kv16):
    arch = model("llama-3.1-70b")

    assert kv_read_bytes(arch, kv16, 1, 16) == 2 * 327_680
    assert kv_resident_bytes(arch, kv16, 1, 16) * 8 == 327_680


def test_gpt_oss_windows_halve_the_cache_of_32_long_streams(model, kv16):
    arch = model("gpt-oss-20b")

    assert round(32 * kv_resident_bytes(arch, kv16, 8192) / GIB, 3) == 6.094
    assert 32 * 8192 * kv_bytes_per_token(arch, kv16) == 12 * GIB


def test_gemma_windows_at_8192_tokens(model, kv16):
    arch = model("gemma-2-9b")

    assert round(kv_read_bytes(arch, kv16, 8192) / GIB, 3) == 1.969
    assert round(8192 * kv_bytes_per_token(arch, kv16) / GIB, 3) == 2.625


def test_an_engine_sets_137_blocks_aside_for_a_window_of_128(model, kv16):
    arch = model("gpt-oss-20b")
    page = 16 * 2048

    held = kv_resident_bytes(arch, kv16, 8192, block_tokens=16, rule="engine")

    assert held == 12 * page * 137 + 12 * page * 512


def test_an_engine_never_sets_aside_more_than_the_whole_context(model, kv16):
    arch = model("gpt-oss-20b")

    held = kv_resident_bytes(arch, kv16, 1000, block_tokens=16, rule="engine")

    assert held == 63 * 16 * kv_bytes_per_token(arch, kv16)


def test_a_page_of_llama_is_two_mebibytes(llama, kv16):
    one = kv_resident_bytes(llama, kv16, 1, block_tokens=16)

    assert one == 2 * MIB
    assert kv_resident_bytes(llama, kv16, 17, block_tokens=16) == 2 * one
    assert int(55.1 * GIB) // one == 28_211


def test_qwen_hybrid_state_and_cache(model, kv16):
    arch = model("qwen3.5-35b-a3b")

    assert state_bytes_per_stream(arch) == 64_389_120
    assert kv_bytes_per_token(arch, kv16) == 20_480
    assert kv_resident_bytes(arch, kv16, 100) == 64_389_120 + 100 * 20_480
    assert kv_write_bytes(arch, kv16) == 64_389_120 + 20_480


@pytest.mark.parametrize(("stored", "mebibytes"), [("bfloat16", 438), ("float32", 870)])
def test_nemotron_state_in_each_type(config, kv16, stored, mebibytes):
    arch = read_config(config("nemotron-h-56b") | {"mamba_ssm_cache_dtype": stored})

    assert round(state_bytes_per_stream(arch) / MIB) == mebibytes
    assert kv_bytes_per_token(arch, kv16) == 40_960


def test_int8_and_nvfp4_scales_lie_in_the_cache(llama):
    assert kv_bytes_per_token(llama, kv_precision("int8")) == 65_536 + 32 * 2 * 8 * 4
    assert kv_bytes_per_token(llama, kv_precision("nvfp4")) == 32 * 2 * 8 * (64 + 8)
    assert kv_bytes_per_token(llama, kv_precision("q8_0")) == 131_072 * 8.5 / 16


def test_a_window_limits_every_layer_of_mistral_v01(model, kv16):
    arch = model("mistral-7b-v0.1")

    assert kv_read_bytes(arch, kv16, 30_000) == kv_read_bytes(arch, kv16, 4096)

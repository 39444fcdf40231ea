from catalog.architecture import decode_flops, prefill_flops


def test_a_prompt_of_1024_takes_14_570_tflop(llama):
    assert round(prefill_flops(llama, 1024) / 1e12, 3) == 14.570
    assert round(prefill_flops(llama, 1024) / 312e12 * 1e3, 1) == 46.7


def test_a_prompt_of_512_takes_7_217_tflop_and_7_354_after_as_many_cached(llama):
    assert round(prefill_flops(llama, 512) / 1e12, 3) == 7.217
    assert round(prefill_flops(llama, 512, 512) / 1e12, 3) == 7.354


def test_sixteen_decoding_streams_take_249_gflop(llama):
    assert round(16 * decode_flops(llama, 1088) / 1e9) == 249


def test_routed_models_multiply_by_their_active_experts_alone(model):
    arch = model("qwen3-30b-a3b")
    per_token = prefill_flops(arch, 2, head=False) - prefill_flops(arch, 1, head=False)

    assert per_token < 2 * 3_353_032_704
    assert decode_flops(arch, 1) < 2 * 3_353_032_704


def test_a_window_limits_attention_flops(model):
    sliding, full = model("mistral-7b-v0.1"), model("llama-3-8b")
    pairs = 32 * 4 * 32 * 128

    grown = prefill_flops(sliding, 1, 20_000, head=False)

    assert grown - prefill_flops(sliding, 1, 0, head=False) == pairs * 4095
    assert decode_flops(full, 20_000) - decode_flops(full, 4096) == pairs * (20_000 - 4096)


def test_recurrent_layers_do_not_look_back(model):
    arch = model("nemotron-h-56b")

    assert decode_flops(arch, 1000) - decode_flops(arch, 0) == 10 * 4 * 64 * 128 * 1000


def test_latent_attention_counts_keys_and_values_as_wide_as_they_multiply(model):
    arch = model("deepseek-v3")

    grown = decode_flops(arch, 1001) - decode_flops(arch, 1000)

    assert grown == 61 * 2 * 128 * (192 + 128)

import pytest

from catalog.architecture import (
    all_reduce_bytes,
    all_reduces_per_step,
    lesson_kv_bytes,
    lesson_prefill_flops,
    lesson_step_bytes,
    lesson_weight_bytes,
)

GIB = 2**30


def test_weights_are_16_0605_gb(llama, bf16):
    assert round(lesson_weight_bytes(llama, bf16) / 1e9, 4) == 16.0605


def test_kv_of_sixteen_streams_of_1152_tokens_is_2_25_gib(llama, kv16):
    assert lesson_kv_bytes(llama, kv16, 16, 1152) == 2_415_919_104 == 2.25 * GIB


@pytest.mark.parametrize(("workspace_gib", "floor_gib"), [(3.5, 20.7075), (4.0, 21.2075)])
def test_memory_floors(llama, bf16, kv16, workspace_gib, floor_gib):
    held = lesson_weight_bytes(llama, bf16) + lesson_kv_bytes(llama, kv16, 16, 1152)

    assert round(held / GIB + workspace_gib, 4) == floor_gib


def test_two_ranks_need_12_1038_gib_each_and_not_12_48(llama, bf16, kv16):
    held = lesson_weight_bytes(llama, bf16) + lesson_kv_bytes(llama, kv16, 16, 1152)

    assert round(held / 2 / GIB + 3.5, 4) == 12.1038


@pytest.mark.parametrize(("load", "gigabytes"), [((16, 1088), 18.3422), ((8, 640), 16.7316)])
def test_step_bytes(llama, bf16, kv16, load, gigabytes):
    assert round(lesson_step_bytes(llama, bf16, kv16, *load) / 1e9, 4) == gigabytes


@pytest.mark.parametrize(
    ("gigabytes_per_s", "milliseconds"), [(380, 48.27), (1550, 11.83), (240, 76.43)]
)
def test_step_times(llama, bf16, kv16, gigabytes_per_s, milliseconds):
    step = lesson_step_bytes(llama, bf16, kv16, 16, 1088)

    assert round(step / gigabytes_per_s / 1e6, 2) == milliseconds


def test_a_prompt_of_1024_takes_16_446_and_0_275_tflop(llama):
    whole = lesson_prefill_flops(llama, 1024)
    linear = 2 * 8_030_261_248 * 1024

    assert round(linear / 1e12, 3) == 16.446
    assert round((whole - linear) / 1e12, 3) == 0.275
    assert round(whole / 1e12, 3) == 16.721


@pytest.mark.parametrize(("teraflops", "milliseconds"), [(75, 222.9), (200, 83.6), (400, 41.8)])
def test_prefill_times(llama, teraflops, milliseconds):
    assert round(lesson_prefill_flops(llama, 1024) / teraflops / 1e9, 1) == milliseconds


def test_a_prompt_of_512_takes_8_2917_tflop(llama):
    assert round(lesson_prefill_flops(llama, 512) / 1e12, 4) == 8.2917


def test_sixty_four_all_reduces_of_128_kib(llama):
    sent = all_reduce_bytes(llama, 16)

    assert all_reduces_per_step(llama) == 64
    assert sent == 128 * 1024
    assert round(64 * (15e-6 + sent / 64e9) * 1e3, 3) == 1.091
    assert round(64 * (5e-6 + sent / 600e9) * 1e3, 3) == 0.334


def test_all_reduces_at_the_bound_take_0_266_and_0_028_ms(llama):
    sent = all_reduce_bytes(llama, 16)

    assert round(64 * sent / 31.5e9 * 1e3, 3) == 0.266
    assert round(64 * sent / 300e9 * 1e3, 3) == 0.028

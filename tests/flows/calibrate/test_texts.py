"""Outputs of nvbandwidth, nccl-tests and llama-bench, of several releases."""

from __future__ import annotations

import pytest

from flows.calibrate.texts import llama_bench_rates, nccl_collective, nvbandwidth_rates
from tests.flows.calibrate.recorded import (
    LLAMA_BENCH,
    LLAMA_BENCH_OLDER,
    NCCL_2_10,
    NCCL_2_17,
    NCCL_ONE,
    NVBANDWIDTH_04,
    NVBANDWIDTH_08_JSON,
)


def test_nvbandwidths_text_gives_each_devices_copies_and_leaves_out_what_it_did_not_measure():
    found = {(each.name, each.device): each.value for each in nvbandwidth_rates(NVBANDWIDTH_04)}

    assert found == {
        ("host_to_device", 0): 13.15e9,
        ("host_to_device", 1): 13.16e9,
        ("device_to_host", 0): 13.19e9,
    }
    assert {each.tool for each in nvbandwidth_rates(NVBANDWIDTH_04)} == {"nvbandwidth v0.4"}


def test_nvbandwidths_json_gives_the_same_and_passes_over_waived_and_other_tests():
    found = nvbandwidth_rates(NVBANDWIDTH_08_JSON)

    assert [(each.name, each.device, each.value) for each in found] == [
        ("host_to_device", 0, pytest.approx(55.63e9)),
        ("host_to_device", 1, pytest.approx(55.61e9)),
    ]
    assert found[0].tool == "nvbandwidth v0.8"


def test_nccl_tests_before_a_root_column_are_read_by_their_heads():
    found = nccl_collective(NCCL_2_10)

    assert found.devices == 2
    assert found.points == (
        (1024, pytest.approx(13.10e-6)),
        (1048576, pytest.approx(24.30e-6)),
        (268435456, pytest.approx(1360.1e-6)),
    )


def test_newer_nccl_tests_name_their_release_and_a_wrong_result_is_no_time():
    found = nccl_collective(NCCL_2_17)

    assert found.devices == 4
    assert found.tool == "all_reduce_perf 2.17.1"
    assert [size for size, _ in found.points] == [1024, 1048576]


@pytest.mark.parametrize("text", ["", "no such thing", NCCL_ONE], ids=["none", "other", "one"])
def test_without_a_table_of_several_ranks_there_is_no_all_reduce(text):
    assert nccl_collective(text) is None


def test_a_prompt_is_two_flops_a_parameter_and_a_decoded_token_reads_the_model():
    prompt, answer = llama_bench_rates(LLAMA_BENCH)

    assert (prompt.name, prompt.precision) == ("matmul", "int8")
    assert prompt.blocks == (
        pytest.approx(100 * 2 * 1235814400),
        pytest.approx(101 * 2 * 1235814400),
    )
    assert (answer.name, answer.blocks) == ("memory_read", (13.2e9,))
    assert not prompt.on_accelerator
    assert prompt.tool == "llama-bench b6710 on llama 1B Q8_0"


def test_older_releases_and_lines_of_json_without_samples_are_read_by_their_average():
    prompt, answer = llama_bench_rates(LLAMA_BENCH_OLDER)

    assert (prompt.precision, prompt.on_accelerator) == ("fp16", True)
    assert prompt.blocks == (pytest.approx(2400 * 2 * 6738415616),)
    assert answer.blocks == (pytest.approx(17.5 * 13476839424),)


@pytest.mark.parametrize(
    "text",
    ["", "error: no model", "{", "[1]", '{"nvbandwidth": {}}', '[{"n_gen": 9, "avg_ts": 1}]'],
)
def test_what_is_none_of_their_outputs_gives_nothing(text):
    assert nvbandwidth_rates(text) == ()
    assert llama_bench_rates(text) == ()
    assert nccl_collective(text) is None

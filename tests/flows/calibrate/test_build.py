"""From what hosts wrote down to calibrations: units, spread, devices, disturbances."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from catalog.calibration.rates import rates_of
from flows.calibrate.build import built
from flows.calibrate.order import Manner
from flows.calibrate.view import contradictions
from flows.machine.found import FoundDevice, FoundMachine
from flows.system.here import facts_here
from tests.flows.calibrate.recorded import (
    BUSY,
    LLAMA_BENCH,
    NCCL_2_10,
    NVBANDWIDTH_04,
    QUIET,
    kernel,
    raw,
    torch,
)

NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
L4 = FoundMachine(
    vendor="nvidia",
    driver="570.86.15",
    devices=(FoundDevice(index=0, name="NVIDIA L4", memory_mib=23034),),
)
TWO_A100 = FoundMachine(
    vendor="nvidia",
    driver="570.86.15",
    devices=tuple(
        FoundDevice(index=index, name="NVIDIA A100-SXM4-80GB", memory_mib=81920)
        for index in (0, 1)
    ),
)
NONE = FoundMachine(why_none="neither nvidia-smi nor amd-smi is there")


@pytest.fixture(scope="module")
def build(shipped):
    def make(written, found=NONE, **manner):
        return built(
            written,
            host="ssh:box",
            system=facts_here("ssh:box", NOW),
            found=found,
            manner=Manner(**manner),
            catalog=shipped,
            now=NOW,
        )

    return make


def test_bytes_are_counted_by_what_measured_them_and_every_block_is_kept(build):
    file = build(
        raw(
            kernel("memory_read", 1e9),
            kernel("memory_triad", 1e9),
            kernel("memory_triad", 1e9, where="core", way="numpy", tool="NumPy 2.4"),
        )
    )
    read, triad, numpy = file.cpu.figures

    assert read.value == pytest.approx(8.8e9)
    assert read.blocks == pytest.approx((8e9, 8.8e9, 9.6e9))
    assert (read.minimum, read.maximum) == pytest.approx((8e9, 9.6e9))
    assert read.mad == pytest.approx(0.8e9)
    assert read.low < read.minimum  # three blocks: a wide t-interval
    assert read.high > read.maximum
    assert triad.value == pytest.approx(26.4e9)
    assert triad.bytes_counted.startswith("24 B an element, as STREAM counts")
    assert numpy.value == pytest.approx(44e9)
    assert "move 48" in numpy.bytes_counted
    assert (read.threads, numpy.threads) == (2, 1)


def test_a_product_within_the_cache_says_that_a_library_reaches_less(build):
    file = build(raw(kernel("matmul", 1e11, precision="fp32")))

    assert file.cpu.figures[0].unit == "FLOP/s"
    assert "more than a library reaches" in file.cpu.figures[0].tool


def test_a_gpus_figures_are_its_catalog_entrys_and_go_into_its_rates(build, shipped):
    file = build(
        raw(
            torch("memory_read", 262e9),
            torch("memory_copy", 251e9),
            torch("matmul", 90e12, precision="bf16"),
            texts={"nvbandwidth": NVBANDWIDTH_04},
            unavailable=[
                {
                    "what": "copies to the host, accelerator 0",
                    "why": "PyTorch: no pinned memory",
                },
                {"what": "fp8 matrix product, accelerator 0", "why": "PyTorch: not here"},
            ],
        ),
        L4,
    )
    (device,) = file.accelerators
    rates = rates_of(file, device)

    assert device.catalog_device == "nvidia-l4"
    assert rates.bandwidth.value == pytest.approx(262e9)
    assert rates.compute["bf16"].value == pytest.approx(90e12)
    assert device.figure("host_to_device").value == pytest.approx(13.15e9)
    assert device.figure("host_to_device").low is None  # one value has no interval
    assert [each.what for each in file.unavailable] == [
        "copies to the host, accelerator 0",
        "fp8 matrix product, accelerator 0",
        "all-reduce",
    ]
    assert list(contradictions(file, shipped)) == []


def test_a_rate_above_the_datasheets_peak_is_an_error_in_words(build, shipped):
    file = build(raw(torch("memory_read", 340e9)), L4)

    (said,) = contradictions(file, shipped)

    assert said.startswith(
        "NVIDIA L4: bandwidth of 340 GB/s was measured, and the catalog's nvidia-l4 has a peak "
        "of 300 GB/s"
    )


def test_torchs_all_reduces_are_fitted_and_nccl_tests_stand_in_where_there_are_none(build):
    points = [
        {"message_bytes": size, "seconds": [5e-6 + size / 207e9, 5e-6 + size / 207e9]}
        for size in (1024, 1 << 20, 1 << 28)
    ]
    told = {
        "devices": 2,
        "backend": "nccl",
        "device_class": "cuda",
        "tool": "PyTorch 2.7.1 (CUDA 12.8), torch.distributed over nccl",
        "points": points,
    }
    by_torch = build(raw(all_reduces=[told], texts={"all_reduce_perf": NCCL_2_10}), TWO_A100)
    by_tests = build(raw(texts={"all_reduce_perf": NCCL_2_10}), TWO_A100)

    (line,), (other,) = by_torch.all_reduces, by_tests.all_reduces
    assert line.alpha_s == pytest.approx(5e-6)
    assert line.bandwidth == pytest.approx(207e9)
    assert line.residual < 1e-9
    assert other.alpha_s == pytest.approx(13.6e-6, rel=0.1)
    assert other.bandwidth == pytest.approx(199e9, rel=0.05)
    assert other.tool == "all_reduce_perf"
    assert {each.catalog_device for each in by_tests.accelerators} == {"nvidia-a100-80gb-sxm4"}


def test_llama_bench_adds_what_no_other_tool_has_measured(build):
    file = build(raw(kernel("memory_read", 1e9), texts={"llama-bench": LLAMA_BENCH}))

    read, product = file.cpu.figures
    assert read.tool.startswith("C program")
    assert (product.precision, product.tool) == ("int8", "llama-bench b6710 on llama 1B Q8_0")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"loads": {"memory": BUSY}}, "memory: others use 0.90 of its 2 cores"),
        (
            {"loads": {"memory": QUIET | {"steal_share": 0.2}}},
            "memory: its hypervisor takes 20% of its time",
        ),
        (
            {"conditions": {"before": {"core_mhz": 4000.0}, "after": {"core_mhz": 3100.0}}},
            "a core's clock went from 4,000 to 3,100 MHz meanwhile",
        ),
        (
            {
                "conditions": {
                    "before": {},
                    "after": {"gpus": ["0, 1410, 1593, 88, 300.1, 0x0000000000000040"]},
                }
            },
            "accelerator 0 was slowed down by its hardware (0x0000000000000040)",
        ),
    ],
    ids=["load", "steal", "clock", "heat"],
)
def test_what_disturbs_voids_a_calibration_unless_it_is_exploratory(build, changed, said):
    written = raw(kernel("memory_read", 1e9), **changed)

    void, kept = build(written), build(written, exploratory=True)

    assert isinstance(void, tuple)
    assert void[0].startswith(said)
    assert kept.disturbances == void
    assert kept.exploratory
    assert rates_of(kept, kept.cpu).bandwidth.source.startswith("exploratory calibration")


def test_a_free_running_gpu_is_not_disturbed(build):
    gpus = ["0, 1980, 2619, 45, 300.1, 0x0000000000000004", "1, 1980, 2619, [N/A], 3, [N/A]"]
    written = raw(conditions={"before": {}, "after": {"gpus": gpus}})

    assert build(written).disturbances == ()


def test_a_host_without_accelerators_says_so(build):
    (missing,) = build(raw(kernel("memory_read", 1e9))).unavailable

    assert missing.why == "neither nvidia-smi nor amd-smi is there"


def test_a_device_of_another_memory_size_is_not_the_catalogs(build):
    half = replace(L4, devices=(replace(L4.devices[0], memory_mib=11500),))

    (device,) = build(raw(torch("memory_read", 1e9)), half).accelerators

    assert device.catalog_device is None

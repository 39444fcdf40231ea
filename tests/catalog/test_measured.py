"""Gates with what was measured on a host: assumptions give way, proofs stand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.calibration.rates import rates_of
from catalog.quantity import Basis
from catalog.verdict import Status
from reports.screen_file import screen_of
from tests.catalog.calibration_files import accelerator, all_reduce, calibration, cpu_device

LOCAL = {"host": "local", "runtime": "llama_server", "version": "b11549"}
L4 = {"host": "ssh:box", "device": "nvidia-l4"}
BOX = {"host": "ssh:box", "device": "intel-xeon-8480plus-2s"}
SMALL = {
    "model": "tiny-llama-110m",
    "precision": {"weights": "float16", "kv_cache": "float16"},
    "prompt_tokens": 32,
    "output_tokens": 16,
    "concurrency": 4,
    "slo": {"ttft": "600 ms", "itl": "200 ms"},
}
rates = st.floats(1e6, 1e13)


@pytest.fixture(scope="session")
def measured(shipped):
    """The shipped catalog with a device's rates for candidates of these names."""

    def make(*devices, names=("c0",), **more):
        file = calibration(*devices, **more)
        own = rates_of(file, file.devices[-1])
        return shipped.with_measured(dict.fromkeys(names, own))

    return make


def gate(screen, name, candidate=0):
    return screen.candidates[candidate].gate(name)


def test_a_host_that_no_datasheet_knows_is_judged_by_its_own_rates(vote, measured):
    known = measured(cpu_device(10e9, {"fp32": 100e9}))

    before, after = vote(SMALL, LOCAL), vote(SMALL, LOCAL, catalog=known)

    assert before.candidates[0].verdict is Status.UNKNOWN
    assert after.candidates[0].verdict is Status.PASS
    answer = gate(after, "bandwidth")
    assert answer.bound is None
    assert answer.assumption.value == pytest.approx(22.4, rel=0.02)  # 225 MB over 10 GB/s
    assert "no peak is below them" in answer.reason
    assert "rates as measured: calibration of local (ffffffff), 2026-11-30" in (
        after.candidates[0].notes
    )


def test_measured_rates_that_miss_the_limit_make_a_candidate_unlikely_and_never_reject_it(
    vote, measured
):
    known = measured(cpu_device(1e9, {"fp32": 100e9}))

    answer = vote(SMALL, LOCAL, catalog=known).candidates[0]

    assert answer.verdict is Status.UNLIKELY
    assert answer.reason == "225.1 ms at the measured 1.000 GB/s exceed 200.0 ms"


def test_a_pass_needs_every_rate_and_a_miss_needs_one(vote, measured):
    fast, slow = measured(cpu_device(10e9)), measured(cpu_device(0.5e9))

    assert gate(vote(SMALL, LOCAL, catalog=fast), "bandwidth").status is Status.UNKNOWN
    assert gate(vote(SMALL, LOCAL, catalog=slow), "bandwidth").status is Status.UNLIKELY


def test_a_candidate_of_one_thread_is_judged_by_one_core(vote, measured):
    known = measured(
        cpu_device(80e9, {"fp32": 400e9}, core_bandwidth=8e9, core_compute={"fp32": 50e9}),
        names=("c0", "c1"),
    )
    screen = vote(SMALL, LOCAL, LOCAL | {"settings": {"threads": 1}}, catalog=known)

    whole, one = (gate(screen, "bandwidth", index).assumption.value for index in (0, 1))
    assert one == pytest.approx(10 * whole)


def test_the_measurement_stands_beside_the_assumption_that_it_replaces(
    vote, measured, canonical
):
    known = measured(accelerator(255e9, {"bf16": 80e12}))

    candidate = vote(canonical, L4, catalog=known).candidates[0]

    bandwidth, compute = candidate.calibrated
    assert (bandwidth.name, bandwidth.assumption.value, bandwidth.measurement.value) == (
        "bandwidth",
        240e9,
        255e9,
    )
    assert bandwidth.assumption.basis is Basis.ASSUMPTION
    assert bandwidth.measurement.basis is Basis.MEASUREMENT
    assert (compute.assumption.value, compute.measurement.value) == (75e12, 80e12)
    assert not any("achieved" in line for line in candidate.open_questions)
    used = {each.name: each.quantity for each in candidate.gate("bandwidth").inputs}
    assert used["achieved_bandwidth"].basis is Basis.MEASUREMENT


def test_what_the_campaign_assumes_gives_way_too_and_is_still_shown(vote, measured, canonical):
    known = measured(accelerator(255e9, {"bf16": 80e12}))
    stated = L4 | {"assumptions": {"bandwidth": "100 GB/s"}}

    (bandwidth, _) = vote(canonical, stated, catalog=known).candidates[0].calibrated

    assert (bandwidth.assumption.value, bandwidth.measurement.value) == (100e9, 255e9)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(drawn=st.tuples(rates, rates, st.sampled_from((1, 4, 16))))
def test_below_the_peaks_a_calibration_changes_only_what_an_assumption_said(
    vote, measured, canonical, drawn
):
    bandwidth, compute, streams = drawn
    contract = {**canonical, "concurrency": streams}
    known = measured(
        cpu_device(min(bandwidth, 6e11), {"bf16": min(compute, 5e13)}), names=("c0", "c1")
    )
    both = (BOX, BOX | {"offer": None})

    before, after = vote(contract, *both), vote(contract, *both, catalog=known)

    for old, new in zip(before.candidates, after.candidates, strict=True):
        for was, now in zip(old.gates, new.gates, strict=True):
            assert now.bound == was.bound
            assert now.limit == was.limit
            assert (was.status is Status.REJECT) == (now.status is Status.REJECT)
            if was.status is not now.status:
                assert {was.status, now.status} <= {Status.PASS, Status.UNLIKELY}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    drawn=st.tuples(
        st.floats(1e8, 1e11),
        st.floats(1e9, 1e12),
        st.floats(1.0, 100.0),
        st.none() | st.integers(1, 8),
    )
)
def test_a_pass_by_measured_rates_holds_for_every_peak_that_is_not_below_them(
    vote, measured, drawn
):
    bandwidth, compute, faster, threads = drawn
    rated = cpu_device(
        bandwidth,
        {"fp32": compute},
        core_bandwidth=bandwidth / 4,
        core_compute={"fp32": compute / 8},
    )
    candidate = LOCAL | ({"settings": {"threads": threads}} if threads else {})
    known = measured(rated)
    answer = vote(SMALL, candidate, catalog=known).candidates[0]
    peak = known.measured["c0"].device
    peaked = peak.model_copy(
        update={
            "memory_bandwidth": peak.achieved.bandwidth.derived(
                bandwidth * faster, "B/s", Basis.SPECIFICATION
            ),
            "compute": {
                "bf16": peak.achieved.compute["fp32"].derived(
                    compute * faster, "FLOP/s", Basis.SPECIFICATION
                )
            },
        }
    )
    with_peaks = known.with_measured({"c0": replace(known.measured["c0"], device=peaked)})

    proven = vote(SMALL, candidate, catalog=with_peaks).candidates[0]

    for name in ("bandwidth", "compute"):
        if answer.gate(name).status is Status.PASS:
            assert proven.gate(name).status is Status.PASS


def test_a_peak_that_a_measurement_exceeds_is_a_contradiction_and_rejects_nobody(
    vote, measured, canonical
):
    known = measured(accelerator(310e9, {"bf16": 80e12}))

    before, after = vote(canonical, L4), vote(canonical, L4, catalog=known)

    assert before.candidates[0].verdict is Status.REJECT
    candidate = after.candidates[0]
    assert candidate.verdict is Status.UNLIKELY
    assert (
        "CONTRADICTION: the peak bandwidth of 300 GB/s, above which 310 GB/s were measured; "
        "the catalog's entry or the measurement is wrong" in candidate.notes
    )
    assert "above which 310 GB/s were measured" in gate(after, "bandwidth").reason


def test_measured_all_reduces_take_the_place_of_the_links_assumed_ones(
    vote, measured, canonical
):
    pair = {
        "host": "ssh:box",
        "device": "nvidia-a100-80gb-pcie",
        "device_count": 2,
        "tensor_parallel": 2,
    }
    known = measured(
        accelerator(1.6e12, catalog_device="nvidia-a100-80gb-pcie"),
        all_reduces=(all_reduce(2, 1e-3, 1e9),),
    )

    before, after = vote(canonical, pair), vote(canonical, pair, catalog=known)

    assert gate(before, "interconnect").status is Status.PASS
    assert gate(after, "interconnect").status is Status.UNLIKELY
    names = [each.name for each in after.candidates[0].calibrated]
    assert "all-reduce start-up, 2 devices" in names
    assert "all-reduce bandwidth, 2 devices" in names


def test_both_figures_are_in_the_json_and_read_back(vote, measured, canonical):
    screen = vote(canonical, L4, catalog=measured(accelerator(255e9)))
    plain = json.loads(json.dumps(screen.to_json()))

    (told,) = plain["candidates"][0]["calibrated"]
    assert told["assumption"]["value"] == 240e9
    assert told["measurement"]["basis"] == "measurement"
    assert told["measurement"]["date"] == "2026-11-30"
    assert screen_of(plain).candidates[0].calibrated == screen.candidates[0].calibrated


def test_a_host_without_a_calibration_is_told_how_to_get_one(vote):
    reason = vote(SMALL, LOCAL).candidates[0].reason

    assert "name one of the catalog, or measure it: runoff calibrate local" in reason

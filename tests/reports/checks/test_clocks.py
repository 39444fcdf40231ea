from __future__ import annotations

from dataclasses import replace

import pytest

from reports.checks import Evidence
from reports.checks.rules.clocks import check
from reports.gathered import gathered
from reports.run.read import read_run
from reports.summary import summary_of
from reports.telemetry.summary import summarise_telemetry
from tests.reports.run.builder import NOW, QUICK, B, build_run
from tests.reports.telemetry.samples import host, steady, telemetry


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Evidence:
    run = read_run(build_run(tmp_path_factory.mktemp("run"), [B], **QUICK).path)
    files = gathered(run)
    return Evidence(files=files, summary=summary_of(run, files), today=NOW.date())


def judged(evidence, *told):
    """The rule's check, where the replications' summaries of samples are these, in turn."""

    def with_samples(number, each):
        samples = told[number % len(told)]
        file = each.measured.file.model_copy(update={"telemetry": samples})
        return replace(each, measured=replace(each.measured, file=file))

    changed = tuple(with_samples(n, each) for n, each in enumerate(evidence.files.replications))
    (found,) = check(replace(evidence, files=replace(evidence.files, replications=changed)))
    return found


def locked(target=1410, **changes):
    return summarise_telemetry(telemetry(steady(**changes)), targets_mhz={0: target})


def test_without_telemetry_nothing_is_known(measured):
    assert judged(measured, None).verdict == "unknown"
    assert judged(measured, locked(), None).verdict == "unknown"


def test_clocks_that_were_held_pass_with_what_was_seen(measured):
    found = judged(measured, locked())

    assert found.verdict == "pass"
    assert found.observed == "100% of samples at 1410 MHz, seen 1410 to 1410 MHz"


def test_clocks_that_were_asked_and_not_held_fail(measured):
    found = judged(measured, locked(), locked(graphics_mhz=1200.0))

    assert found.verdict == "fail"
    assert "0% of samples at 1410 MHz, seen 1200 to 1410 MHz" in found.observed


def test_one_launch_that_was_throttled_by_its_hardware_fails_the_cell(measured):
    found = judged(measured, locked(), locked(reasons=0x40))

    assert (found.verdict, found.observed) == (
        "fail",
        "unstable: GPU 0: hardware thermal slowdown",
    )


def test_a_software_cap_is_told_and_fails_nothing(measured):
    found = judged(measured, locked(reasons=0x4))

    assert found.verdict == "pass"
    assert "GPU 0: software power cap in 100% of samples" in found.observed


def test_clocks_that_nobody_locked_prove_nothing(measured):
    free = summarise_telemetry(telemetry(steady()))

    assert judged(measured, free).verdict == "unknown"
    assert "clocks were not locked" in judged(measured, free).observed


def test_a_driver_that_hides_its_reasons_proves_nothing(measured):
    assert judged(measured, locked(reasons=None)).verdict == "unknown"


def test_a_hole_in_the_samples_proves_nothing(measured):
    rows = [row for row in steady() if not 13 <= row["at_ns"] / 1e9 <= 16]
    holey = summarise_telemetry(telemetry(rows), targets_mhz={0: 1410})

    assert judged(measured, holey).verdict == "unknown"


@pytest.mark.parametrize(
    ("mhz", "verdict"),
    [
        (lambda second: 2000.0, "pass"),
        (lambda second: 2000.0 + 50 * (second % 5), "unknown"),
        (lambda second: None, "unknown"),
    ],
    ids=["steady", "wandering", "untold"],
)
def test_a_machine_without_devices_is_judged_by_its_processors(measured, mhz, verdict):
    rows = [host(second, cpu_mhz=mhz(second)) for second in range(31)]

    assert judged(measured, summarise_telemetry(telemetry(rows))).verdict == verdict

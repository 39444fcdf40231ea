"""Which calibration is whose: hosts, products, stale ones, files and names."""

from __future__ import annotations

import pytest

from catalog.calibration.file import calibration_text
from catalog.errors import CatalogError
from catalog.schema import Campaign
from flows.calibrate.apply import applied, at_hand, current, host_of, named
from flows.calibrate.fingerprint import changed, fingerprint_of
from flows.calibrate.home import keep, kept
from flows.errors import UsageError
from tests.catalog.calibration_files import DAY, accelerator, calibration, cpu_device

CONTRACT = {
    "model": "tiny-llama-110m",
    "prompt_tokens": 32,
    "output_tokens": 16,
    "concurrency": 4,
}


def campaign(*candidates):
    named_ = [
        {"name": f"c{number}", "runtime": "vllm", "version": "0.11.0", **each}
        for number, each in enumerate(candidates)
    ]
    return Campaign.model_validate(
        {"schema_version": 1, "name": "t", "contract": CONTRACT, "candidates": named_}
    )


LOCAL, BOX = {"host": "local"}, {"host": "ssh:box", "device": "nvidia-l4"}
ELSEWHERE = {"device": "nvidia-l4", "host": "ssh:other"}


def test_a_calibration_serves_the_candidates_of_its_own_host(shipped):
    stated = campaign(LOCAL, BOX, ELSEWHERE)
    files = (calibration(cpu_device(1e9)), calibration(accelerator(250e9), host="ssh:box"))

    found = applied(stated, shipped, files)

    assert set(found.used) == {"c0", "c1"}
    assert found.catalog.measured["c0"].device.name == "local-cpu"
    assert found.catalog.device("local-cpu").title == "A processor"
    assert found.catalog.origin("device", "local-cpu") == "a calibration"
    assert found.catalog.origin("device", "nvidia-l4") == "runoff"
    assert found.catalog.file("device", "local-cpu") is None
    assert found.catalog.file("device", "nvidia-l4").name == "nvidia-l4.yaml"


def test_one_that_is_named_serves_other_machines_of_the_product_too(shipped):
    file = calibration(accelerator(250e9), host="ssh:box")

    assert set(applied(campaign(ELSEWHERE), shipped, (file,), asked=True).used) == {"c0"}
    assert applied(campaign(ELSEWHERE), shipped, (file,)).used == {}


def test_processors_of_a_catalog_entry_are_the_hosts_own_and_nobody_elses(shipped):
    file = calibration(cpu_device(90e9))
    own = {"host": "local", "device": "intel-xeon-8480plus-2s"}
    other = {"host": "ssh:box", "device": "intel-xeon-8480plus-2s"}

    found = applied(campaign(own, other), shipped, (file,), asked=True)

    assert set(found.used) == {"c0"}


def test_a_host_whose_calibration_lacks_the_device_is_told(shipped):
    file = calibration(accelerator(250e9), host="ssh:other")
    wrong = {"device": "nvidia-l40s", "host": "ssh:other"}

    (said,) = applied(campaign(wrong), shipped, (file,)).notes

    assert said.startswith("c0: calibration of ssh:other (ffffffff) has NVIDIA L4, and no")


def test_a_disturbed_one_serves_exploratory_campaigns_and_others_only_by_name(shipped):
    file = calibration(cpu_device(1e9), disturbances=("others use it",), exploratory=True)
    stated = campaign(LOCAL)
    quick = stated.model_copy(update={"exploratory": True})

    refused = applied(stated, shipped, (file,))

    assert refused.used == {}
    assert refused.notes[0].startswith(
        "c0: the exploratory calibration of local (ffffffff) was disturbed, and serves"
    )
    assert set(applied(quick, shipped, (file,)).used) == {"c0"}
    assert set(applied(stated, shipped, (file,), asked=True).used) == {"c0"}


def test_a_calibration_of_other_hardware_is_stale_and_says_what_differs():
    hardware = {"cpu": "A processor", "kernel": "6.8"}
    old = calibration(
        cpu_device(1e9),
        hardware={"cpu": "A processor", "kernel": "6.1"},
        fingerprint=fingerprint_of({"cpu": "A processor", "kernel": "6.1"}),
    )
    new = old.model_copy(update={"fingerprint": fingerprint_of(hardware), "hardware": hardware})

    assert current((old, new), hardware) == (new, "")
    file, said = current((old,), hardware)
    assert file is None
    assert said.endswith(
        "is stale and not used: kernel was 6.1, is 6.8. Make one: runoff calibrate local"
    )
    assert current((), hardware) == (None, "")


def test_equal_hardware_has_one_fingerprint_whatever_the_order_of_its_facts():
    assert fingerprint_of({"a": 1, "b": [2]}) == fingerprint_of({"b": [2], "a": 1})
    assert fingerprint_of({"a": 1}) != fingerprint_of({"a": 2})
    assert changed({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == (
        "b was 2, is 3; c was None, is 4"
    )


def test_the_newest_calibration_of_a_fingerprint_is_kept_and_broken_files_are_passed_over(
    tmp_path,
):
    first = calibration(cpu_device(1e9), host="ssh:box")
    second = first.model_copy(update={"measured_at": DAY.replace(hour=13)})
    other = first.model_copy(
        update={"fingerprint": "e" * 64, "measured_at": DAY.replace(hour=11)}
    )

    for file in (first, second, other):
        path = keep(tmp_path, file)
    (path.parent / "broken.json").write_text("{")

    assert kept(tmp_path, "ssh:box") == (second, other)
    assert kept(tmp_path, "local") == ()


def test_a_named_calibration_is_a_file_or_a_host_that_has_one(tmp_path):
    stated = campaign(BOX)
    file = calibration(accelerator(250e9), host="ssh:box")
    path = keep(tmp_path, file)

    for word in (str(path), "ssh:box", "c0", "ssh-box"):
        assert named((word,), tmp_path, stated) == (file,)
    with pytest.raises(UsageError, match=r"--calibration ssh:no: no such file, and no stored"):
        named(("ssh:no",), tmp_path, stated)
    with pytest.raises(UsageError, match="this machine has none"):
        named(("localhost",), tmp_path, stated)
    path.write_text("{}")
    with pytest.raises(CatalogError, match="runoff calibrate"):
        named((str(path),), tmp_path, stated)


def test_a_file_that_another_machine_calls_local_is_not_this_machines(shipped, tmp_path):
    """Its processors are judged here by nobody; its accelerators are of a product."""
    file = calibration(cpu_device(1e9), accelerator(250e9))
    path = tmp_path / "theirs.json"
    path.write_text(calibration_text(file))

    found = at_hand(campaign(LOCAL, BOX), shipped, (str(path),), tmp_path)

    assert set(found.used) == {"c1"}
    assert found.used["c1"].host == "another machine"
    assert found.notes[0].startswith(
        "c0: the calibration of another machine (ffffffff) is not of this machine as it is now"
    )


def test_a_candidate_is_found_by_its_name_its_host_and_its_machines_name():
    stated = campaign(BOX, LOCAL)

    assert [host_of(word, stated) for word in ("c0", "ssh-box", "c1", "local", "x")] == [
        "ssh:box",
        "ssh:box",
        "local",
        "local",
        None,
    ]


def test_without_a_stored_calibration_nothing_changes_and_nothing_is_said(shipped, tmp_path):
    found = at_hand(campaign(LOCAL), shipped, (), tmp_path)

    assert found.catalog is shipped
    assert (found.used, found.notes) == ({}, ())


def test_a_stale_one_of_this_machine_is_told_and_not_used(shipped, tmp_path):
    keep(tmp_path, calibration(cpu_device(1e9)))

    found = at_hand(campaign(LOCAL), shipped, (), tmp_path)

    assert found.catalog is shipped
    assert "is stale and not used: cpu was A processor" in found.notes[0]
    assert at_hand(campaign(BOX), shipped, (), tmp_path).notes == ()
    assert at_hand(campaign(LOCAL), shipped, ("none",), tmp_path).notes == ()

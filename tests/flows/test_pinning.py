"""A baseline is pinned by its manifest, and measured again exactly as it was configured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from catalog.load import load_campaign, load_catalog
from deploy_templates.runtime_folder import load_runtime_folder
from flows.errors import EvidenceError, UsageError
from flows.launch_plans import planned
from flows.pinning import derived, pinned, taken_up_again
from reports.manifest import write_manifest
from reports.reevaluate.pin import evidence_of
from reports.run import layout
from reports.run.layout import RunFolder
from reports.run.read import file_text, read_run
from tests.reports.reevaluate.again import (
    CONTROL,
    answer_of,
    baseline_run,
    begun,
    control,
    newer,
    pin,
)
from tests.reports.run.builder import C

NEWEST = load_runtime_folder("vllm").newest


@pytest.fixture(scope="module")
def _made(tmp_path_factory) -> RunFolder:
    return baseline_run(tmp_path_factory.mktemp("pinned"))


@pytest.fixture
def root(_made, tmp_path) -> Path:
    """A store in which the baseline lies."""
    shutil.copytree(_made.path, tmp_path / "runs" / "canonical" / _made.path.name)
    return tmp_path / "runs"


@pytest.fixture
def baseline(root) -> RunFolder:
    return RunFolder(next((root / "canonical").iterdir()))


@pytest.fixture
def file(baseline, tmp_path) -> Path:
    """Today's campaign file: as yet the baseline's own."""
    return Path(shutil.copy(baseline.file(layout.CAMPAIGN), tmp_path / "today.yaml"))


def changed(file: Path, **candidate) -> None:
    document = yaml.safe_load(file.read_text())
    document["candidates"][0] |= candidate
    file.write_text(yaml.safe_dump(document, sort_keys=False))


def made(file, root, versions="latest-known", wanted=None):
    name = wanted or next((root / "canonical").iterdir()).name
    found = pinned(root, "canonical", name)
    return derived(file, found, load_catalog(), (), versions=versions)


def entries(found) -> dict[str, dict]:
    return {each["name"]: each for each in yaml.safe_load(found.text)["candidates"]}


def test_a_baseline_is_found_by_its_name_and_by_its_directory(root, baseline) -> None:
    by_name = pinned(root, "canonical", baseline.path.name)
    by_place = pinned(root / "elsewhere", "canonical", str(baseline.path))

    assert by_name.manifest_sha256 == by_place.manifest_sha256
    assert by_name.run.plan.run == by_place.run.plan.run


def test_a_name_that_no_run_has_is_refused_with_those_that_there_are(root) -> None:
    with pytest.raises(UsageError, match=r"--baseline nobody: there is no such run"):
        pinned(root, "canonical", "nobody")


def test_a_run_of_another_campaign_is_no_baseline(root, baseline) -> None:
    with pytest.raises(UsageError, match=r"it is a run of campaign 'canonical', not of 'chat'"):
        pinned(root, "chat", str(baseline.path))


@pytest.mark.parametrize("name", [layout.DECISION, layout.LEDGER, layout.CAMPAIGN])
def test_a_baseline_that_is_not_what_its_manifest_says_is_refused(
    root, baseline, name: str
) -> None:
    path = baseline.file(name)
    path.write_bytes(path.read_bytes() + b" ")

    with pytest.raises(EvidenceError, match=rf"{name} \(changed"):
        pinned(root, "canonical", baseline.path.name)


def test_a_baseline_with_another_manifest_than_was_pinned_is_refused(root, baseline) -> None:
    digest = pinned(root, "canonical", baseline.path.name).manifest_sha256

    assert pinned(root, "canonical", baseline.path.name, sha256=digest[:12].upper())
    with pytest.raises(EvidenceError, match=r"0000 was pinned"):
        pinned(root, "canonical", baseline.path.name, sha256="0000")


def test_a_baseline_that_was_another_one_for_an_earlier_re_evaluation_is_refused(
    root, baseline, file
) -> None:
    earlier = root / "canonical" / "20260901T120000Z-0123abcd"
    earlier.mkdir()
    (earlier / layout.PLAN).write_text("{}")
    kept = made(file, root, wanted=baseline.path.name).baseline
    (earlier / layout.BASELINE).write_text(file_text(kept))
    assert pinned(root, "canonical", baseline.path.name)
    decision = json.loads(baseline.file(layout.DECISION).read_text())
    baseline.file(layout.DECISION).write_text(json.dumps(decision | {"sentence": "C."}))
    write_manifest(baseline)

    with pytest.raises(EvidenceError, match=r"20260901T120000Z-0123abcd was held against"):
        pinned(root, "canonical", baseline.path.name)


def test_the_control_is_the_winner_as_it_was_and_the_champion_the_newest(root, file) -> None:
    found = made(file, root)
    there = entries(found)

    assert list(there) == [CONTROL, "B", "C"]
    assert yaml.safe_load(found.text)["incumbent"] == CONTROL
    assert (there[CONTROL]["version"], there["B"]["version"]) == ("0.6.3", NEWEST)
    assert there["C"]["version"] == NEWEST
    assert {**there[CONTROL], "name": "", "version": ""} == {
        **there["B"],
        "name": "",
        "version": "",
    }
    assert (found.baseline.control, found.baseline.champion) == (CONTROL, "B")
    assert found.campaign.candidates[0].name == CONTROL


def test_the_control_is_launched_exactly_as_the_baseline_was(root, file, baseline) -> None:
    """All that can move a number is the same, whatever its name and its price."""
    changed(file, settings={"max_model_len": 4096})
    found = made(file, root)
    catalog, before = load_catalog(), load_campaign(baseline.file(layout.CAMPAIGN))
    then, again = planned(before, catalog)[0].plan, planned(found.campaign, catalog)[0].plan

    assert then is not None
    assert again is not None
    assert (then.version, then.fingerprint) == (again.version, again.fingerprint)
    assert entries(found)["B"]["settings"] == {"max_model_len": 4096}


def test_with_nothing_changed_and_releases_pinned_the_champion_is_its_own_control(
    root, file
) -> None:
    found = made(file, root, "pinned")

    assert list(entries(found)) == ["B", "C"]
    assert (found.baseline.control, found.baseline.champion) == ("B", "B")
    assert yaml.safe_load(found.text)["incumbent"] == "B"


def test_pinned_releases_are_the_files_else_the_baselines(root, file) -> None:
    changed(file, version="0.10.2")
    document = yaml.safe_load(file.read_text())
    del document["candidates"][1]["version"]
    file.write_text(yaml.safe_dump(document))
    there = entries(made(file, root, "pinned"))

    assert there["B"]["version"] == "0.10.2"
    assert there["C"]["version"] == "0.6.3"


def test_the_control_costs_what_it_costs_today(root, file) -> None:
    document = yaml.safe_load(file.read_text())
    document["candidates"][0]["assumptions"]["price"] = "9.99 USD/h"
    file.write_text(yaml.safe_dump(document))
    there = entries(made(file, root))

    assert there[CONTROL]["assumptions"]["price"] == "9.99 USD/h"


def test_a_candidate_with_an_image_of_its_own_keeps_its_release(root, file) -> None:
    changed(file, image="example.org/vllm@sha256:" + "1" * 64)
    there = entries(made(file, root))

    assert there["B"]["version"] == "0.6.3"


def test_a_champion_that_left_the_file_is_still_measured_as_the_control(root, file) -> None:
    document = yaml.safe_load(file.read_text())
    document["candidates"] = document["candidates"][1:]
    file.write_text(yaml.safe_dump(document))
    found = made(file, root)

    assert list(entries(found)) == [CONTROL, "C"]
    assert found.baseline.champion is None


def test_a_name_that_is_taken_is_not_given_twice(root, file) -> None:
    document = yaml.safe_load(file.read_text())
    document["candidates"].append({**document["candidates"][1], "name": CONTROL})
    file.write_text(yaml.safe_dump(document))

    assert made(file, root).baseline.control == f"{CONTROL}-2"


def test_the_control_of_a_re_evaluation_stands_for_whom_it_stood_for(
    root, file, tmp_path
) -> None:
    folder = begun(tmp_path, pin(baseline_run(tmp_path)), (control(), newer(), C))
    answer_of(folder)
    write_manifest(folder)
    found = derived(
        file,
        pinned(tmp_path / "again", "canonical", str(folder.path)),
        load_catalog(),
        (),
        versions="latest-known",
    )

    assert read_run(folder.path).decision.winner == CONTROL
    assert (found.baseline.winner, found.baseline.champion) == (CONTROL, "B")
    assert found.baseline.control == CONTROL


def test_what_is_resumed_is_the_campaign_of_its_own_run(root, file, tmp_path) -> None:
    found = made(file, root)
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.file(layout.CAMPAIGN).write_bytes(found.text)
    run.file(layout.BASELINE).write_text(file_text(found.baseline))

    assert taken_up_again(file, run).text == found.text
    changed(file, version="0.10.2")
    with pytest.raises(UsageError, match=r"is not the file that this run was begun with"):
        taken_up_again(file, run)


def test_a_run_that_re_evaluates_nothing_is_not_resumed_as_one(file, baseline) -> None:
    with pytest.raises(UsageError, match=r"it is no re-evaluation"):
        taken_up_again(file, baseline)


def test_the_evidence_of_a_pinned_run_keeps_its_kind(baseline) -> None:
    plan = read_run(baseline.path).plan

    assert evidence_of(plan) == "measured"
    assert evidence_of(plan.model_copy(update={"rehearsal": True})) == "simulated"
    assert evidence_of(plan.model_copy(update={"imported": "x"})) == "imported"

"""A disturbed machine fails a cell's check, and decides nothing by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.checks import Evidence
from reports.checks.rules.foreign_load import check
from reports.gathered import gathered
from reports.run.read import read_run
from reports.summary import summary_of
from tests.reports.run.builder import NOW, QUICK, B, build_run

STOLEN = {"seconds": 600.0, "cpus": 8, "steal_share": 0.03, "foreign_share": 0.0}
SWAPPED = {**STOLEN, "steal_share": 0.0, "swapped_in_bytes": 8192}
FAULTY = {**STOLEN, "steal_share": 0.0, "major_faults": 6000}


@pytest.fixture(scope="module", params=[False, True], ids=["claim", "exploratory"])
def evidence(request, tmp_path_factory) -> Evidence:
    folder = tmp_path_factory.mktemp("run")
    run = read_run(build_run(folder, [B], **QUICK, exploratory=request.param).path)
    files = gathered(run)
    return Evidence(files=files, summary=summary_of(run, files), today=NOW.date())


@pytest.mark.parametrize(
    ("foreign", "words"),
    [
        (STOLEN, "the hypervisor took 3.0% of the processors' time"),
        (SWAPPED, "the machine read pages back from swap"),
        (FAULTY, "its processes waited for the disk 10.0 times a second"),
    ],
)
def test_a_disturbed_machine_is_told_and_never_passes(evidence, foreign, words):
    def with_load(each):
        file = each.measured.file.model_copy(update={"foreign": foreign})
        return replace(each, measured=replace(each.measured, file=file))

    files = evidence.files
    changed = replace(files, replications=tuple(map(with_load, files.replications)))
    found = list(check(replace(evidence, files=changed)))

    assert {each.verdict for each in found} == {"fail"}
    assert not any(each.decisive for each in found)
    each_told = "; ".join(f"replication {number}: {words}" for number in range(3))
    assert {each.observed for each in found} == {each_told}

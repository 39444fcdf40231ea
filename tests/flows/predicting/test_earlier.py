"""What earlier runs of the store say of a candidate, and what they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from catalog.case import Unmodelled
from catalog.load import load_campaign
from catalog.sale import Sale
from flows.foretelling import prediction_of
from flows.predicting import known_of
from reports.conclude import conclude
from reports.run import layout
from reports.run.prediction_file import CandidatePrediction
from reports.run.read import read_run
from tests.reports.run.builder import NOW, QUICK, B, build_run

SHARED = {  # with somebody else, whose requests came between ours
    "runtime": "vllm",
    "requests_before": 0.0,
    "requests_after": 0.0,
    "foreign_peak": 5.0,
    "waiting_share": 0.0,
    "prefix_hit_share": 0.0,
    "samples": 600,
}
RUN = "20260822T120000Z-0123abcd"


def expected(root: Path, made) -> CandidatePrediction:
    """What is predicted of a candidate whose only run measured it like that."""
    folder = build_run(root, [made], **QUICK, plan={"run": RUN})
    conclude(folder, now=NOW)
    run = read_run(folder.path.rename(folder.path.with_name(RUN)))
    campaign = load_campaign(run.folder.file(layout.CAMPAIGN))
    facts = run.plan.candidate("B")
    unmodelled = Unmodelled(name="B", reason="no device", sale=Sale())
    known = known_of(campaign.contract, facts, unmodelled, rehearsal=False)
    next_one = run.plan.model_copy(update={"run": "20260823T120000Z-0123abcd"})
    (found,) = prediction_of(root, next_one, {"B": known}, with_rates=False).candidates
    return found


def test_cells_that_are_no_valid_evidence_are_named_with_their_verdicts(tmp_path):
    found = expected(tmp_path, replace(B, client={"server": SHARED}))

    assert found.unknown == (
        f"no device; its cells in {RUN} are no valid evidence: "
        "closed-1 invalid, closed-4 invalid"
    )
    assert found.cells == ()


def test_valid_cells_are_what_a_prediction_rests_on(tmp_path):
    found = expected(tmp_path, B)

    assert found.unknown is None
    assert found.cells

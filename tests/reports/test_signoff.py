"""A signoff approves exactly one manifest, and everything that must keep one from it does."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from reports.run.checks_file import Checks
from reports.run.decision_file import Ranked
from reports.run.plan_file import QualityFacts, SloFacts
from reports.run.read import file_text
from reports.run.signoff_file import Approval, Signoff, Waiver
from reports.run.summary_file import CandidateSummary
from reports.signable import refusals
from reports.signoff import (
    Refused,
    approve,
    is_as_written,
    objections,
    parse_waiver,
    signed_bytes,
)
from tests.reports.evidence import (
    CONTRACT,
    candidate,
    cell,
    check,
    decision,
    evidence,
    plan,
    price,
    summary,
)

NOW = dt.datetime(2026, 8, 23, 9, 30, tzinfo=dt.UTC)
MANIFEST = "ab12" * 16
QUALITY = QualityFacts(reference="bfloat16", margin_points=1.0, tasks=("gsm8k",))
CLAUSED = CONTRACT.model_copy(update={"quality": QUALITY})


def approval(**changes: Any) -> Approval:
    values: dict[str, Any] = {
        "by": "Ada Lovelace",
        "role": "Platform lead",
        "statement": "Approved for the chat service in Frankfurt",
        "at": NOW.isoformat(),
    }
    return Approval(**{**values, **changes})


def sign(*, of: Any = None, before: Signoff | None = None, **changes: Any) -> Signoff | Refused:
    return approve(
        of or evidence(), approval(**changes), manifest_sha256=MANIFEST, now=NOW, before=before
    )


def signed(**changes: Any) -> Signoff:
    made = sign(**changes)
    assert isinstance(made, Signoff), made
    return made


def rules(**changes: Any) -> set[str]:
    """The rules that refuse evidence with these changes."""
    made = sign(of=evidence(**changes))
    return {reason.rule for reason in made.reasons} if isinstance(made, Refused) else set()


def test_a_measured_decision_with_its_evidence_is_signed() -> None:
    made = signed()

    assert made.manifest_sha256 == MANIFEST
    assert (made.stamp, made.evidence, made.chosen) == ("SIGNED", "MEASURED", "B")
    assert [each.by for each in made.approvals] == ["Ada Lovelace"]
    assert made.approvals[0].at == "2026-08-23T09:30:00+00:00"


def test_it_is_valid_until_the_oldest_ranked_price_is_90_days_old() -> None:
    assert signed().valid_until == "2026-10-13"


def test_it_says_after_which_events_it_is_to_be_run_again() -> None:
    said = " ".join(signed().rerun_when)

    assert "vllm 0.6.3" in said
    assert "C wins below $3.10/h." in said
    assert "2026-10-13" in said


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"plan": plan(rehearsal=True)}, "stamp"),
        ({"summary": summary(rehearsal=True)}, "stamp"),
        ({"cells": (cell(), cell(basis="simulation"))}, "stamp"),
        ({"plan": plan(imported="vllm-bench")}, "stamp"),
        ({"summary": summary(imported=True)}, "stamp"),
        ({"plan": plan(exploratory=True)}, "stamp"),
        ({"decision": decision(stamp="EXPLORATORY")}, "stamp"),
        ({"decision": decision(stamp="ESTIMATE")}, "stamp"),
        ({"cells": ()}, "stamp"),
        ({"decision": decision(chosen=None, outcome="none complies")}, "outcome"),
        ({"decision": decision(chosen=None, outcome="no difference shown")}, "outcome"),
        ({"decision": decision(chosen="Z")}, "outcome"),
        ({"plan": plan(candidates=(candidate(price=price(stale=True)),))}, "price"),
        ({"plan": plan(candidates=(candidate(price=price(date="2026-05-24")),))}, "price"),
        ({"contract_sha256": "3c" * 32}, "contract"),
        (
            {"plan": plan(contract=CONTRACT.model_copy(update={"slo": SloFacts(itl_ms=30)}))},
            "contract",
        ),
        ({"plan": plan(contract=CLAUSED)}, "quality"),
    ],
)
def test_what_no_waiver_covers_refuses(changes: dict[str, Any], rule: str) -> None:
    assert rule in rules(**changes)

    waivers = tuple(Waiver(check=name, reason="we accept it here") for name in (rule, "B"))
    assert rule in {each.rule for each in refusals(evidence(**changes), waivers, NOW.date())}


TIE = decision(chosen=None, tie_break="B", outcome="no difference shown")


def test_a_tie_is_signed_for_whom_the_rule_names() -> None:
    made = signed(of=evidence(decision=TIE))

    assert made.chosen == "B"
    assert any("vllm 0.6.3" in said for said in made.rerun_when)


@pytest.mark.parametrize(
    "outcome", ["depends on demand", "inconclusive", "none complies", "nothing measured"]
)
def test_an_open_outcome_is_not_signed_whatever_name_stands_in_it(outcome: Any) -> None:
    for name in ({"chosen": "B"}, {"chosen": None, "tie_break": "B"}):
        assert rules(decision=decision(outcome=outcome, **name)) == {"outcome"}


def test_a_tie_whose_winner_does_not_comply_is_not_signed() -> None:
    place = Ranked(name="B", rank=1, standing="inconclusive", why="so")
    tied = TIE.model_copy(update={"ranking": (place, *TIE.ranking[1:])})

    assert rules(decision=tied) == {"outcome"}


def test_a_rival_s_price_that_grew_old_decides_no_signoff() -> None:
    stale = candidate("C", price=price(date="2026-05-24"))
    of_plan = plan(candidates=(candidate("B"), stale))
    unranked = tuple(
        each.model_copy(update={"rank": None, "standing": "misses"})
        if each.name == "C"
        else each
        for each in decision().ranking
    )

    assert rules(plan=of_plan) == {"price"}
    assert rules(plan=of_plan, decision=decision(ranking=unranked)) == set()


@pytest.mark.parametrize(
    "standing", ["misses", "inconclusive", "needs quality proof", "no valid evidence"]
)
def test_only_a_candidate_that_complies_is_signed(standing: Any) -> None:
    place = Ranked(name="B", rank=1, standing=standing, why="so")

    assert rules(decision=decision(ranking=(place,))) == {"outcome"}


def test_what_makes_the_chosen_one_unsignable_refuses_and_what_makes_another_does_not() -> None:
    reason = "the price is a share that nobody sells"
    b, c = (
        Ranked(name=name, rank=1, standing="complies", why="so", unsignable=(reason,))
        for name in "BC"
    )
    clean = decision().of("B")

    assert rules(decision=decision(ranking=(b,))) == {"candidate"}
    assert rules(decision=decision(ranking=(clean, c))) == set()


@pytest.mark.parametrize(("verdict", "refused"), [("holds", False), ("inconclusive", True)])
def test_a_quality_clause_must_be_shown_to_hold(verdict: str, *, refused: bool) -> None:
    of = CandidateSummary(name="B", quality={"verdict": verdict})
    found = rules(plan=plan(contract=CLAUSED), summary=summary(candidates=(of,)))

    assert ("quality" in found) is refused


def test_what_is_approved_says_whether_quality_was_asked_for() -> None:
    of = CandidateSummary(name="B", quality={"verdict": "holds"})
    clausal = evidence(plan=plan(contract=CLAUSED), summary=summary(candidates=(of,)))

    assert signed().scope == "speed"
    assert signed(of=clausal).scope == "speed and quality"


def test_an_endpoint_is_run_again_when_its_provider_changes_it() -> None:
    of = evidence(plan=plan(candidates=(candidate(kind="endpoint"),)))

    assert any("provider of B" in said for said in signed(of=of).rerun_when)


FAILED = check(verdict="fail", observed="send lag p99 41 ms")


def test_a_failed_check_refuses_with_its_name_and_what_was_seen() -> None:
    made = sign(of=evidence(checks=Checks(checks=(FAILED,))))

    assert isinstance(made, Refused)
    (reason,) = made.reasons
    assert reason.check == "client-health/B/closed-16/0"
    assert "41 ms" in reason.seen
    assert "--waive" in reason.do


@pytest.mark.parametrize(
    "name", ["client-health/B/closed-16/0", "client-health/B", "client-health"]
)
def test_a_waiver_covers_the_check_that_it_names(name: str) -> None:
    waiver = Waiver(check=name, reason="measured again by hand, equal")
    made = signed(of=evidence(checks=Checks(checks=(FAILED,))), waivers=(waiver,))

    assert made.waivers == (waiver,)


@pytest.mark.parametrize("name", ["client", "client-health/C", "steady", "B", ""])
def test_a_waiver_for_another_check_covers_nothing(name: str) -> None:
    waiver = Waiver(check=name, reason="measured again by hand, equal")
    made = sign(of=evidence(checks=Checks(checks=(FAILED,))), waivers=(waiver,))

    assert isinstance(made, Refused)
    assert {reason.rule for reason in made.reasons} == {"check", "waiver"}


def test_a_check_that_is_not_waivable_is_not_waived() -> None:
    alarm = check(id="contradiction", verdict="fail", waivable=False)
    waiver = Waiver(check="contradiction", reason="the bound must be wrong")
    made = sign(of=evidence(checks=Checks(checks=(alarm,))), waivers=(waiver,))

    assert isinstance(made, Refused)
    assert [reason.rule for reason in made.reasons] == ["check"]


def test_a_waiver_of_a_check_that_passes_is_refused() -> None:
    waiver = Waiver(check="steady", reason="to be on the safe side")
    made = sign(waivers=(waiver,))

    assert isinstance(made, Refused)
    assert "nothing to waive" in made.reasons[0].seen


def test_quality_that_another_candidate_lost_refuses_nothing() -> None:
    lost = FAILED.model_copy(update={"id": "quality", "candidate": "C"})
    own = lost.model_copy(update={"candidate": "B"})

    assert rules(checks=Checks(checks=(lost,))) == set()
    assert rules(checks=Checks(checks=(own,))) == {"check"}


def test_an_unknown_decisive_check_needs_a_waiver_and_another_is_only_listed() -> None:
    unknown = check(verdict="unknown")
    aside = check(verdict="unknown", decisive=False)

    assert rules(checks=Checks(checks=(unknown,))) == {"check"}
    made = signed(of=evidence(checks=Checks(checks=(aside,))))
    assert made.unknown == ("client-health/B/closed-16/0",)


@pytest.mark.parametrize(
    "text", ["", "  ", "TODO", "xxx", "XXX", "name", "Your Name", "<name>", "tbd.", "-", "...",
             "n/a", "{role}", "[who]", "A", "aaaa", "?", "42", "me\x1b[2K", "$USER"]
)  # fmt: skip
@pytest.mark.parametrize("field", ["by", "role", "statement"])
def test_a_placeholder_is_refused(field: str, text: str) -> None:
    made = sign(**{field: text})

    assert isinstance(made, Refused)
    assert [reason.rule for reason in made.reasons] == [field]


@pytest.mark.parametrize(
    "name",
    ["Ada Lovelace", "李明", "José", "O'Neil", "j.smith", "Ng Ü", "Ada <ada@example.org>"],
)
def test_a_name_is_a_name(name: str) -> None:
    assert signed(by=name).approvals[0].by == name


@pytest.mark.parametrize("reason", ["", "TODO", "ok", "accepted"])
def test_a_waiver_without_a_reason_is_refused(reason: str) -> None:
    waiver = Waiver(check=FAILED.name, reason=reason)
    made = sign(of=evidence(checks=Checks(checks=(FAILED,))), waivers=(waiver,))

    assert isinstance(made, Refused)
    assert [each.rule for each in made.reasons] == ["waiver"]


def test_a_waiver_is_written_as_check_and_reason() -> None:
    assert parse_waiver("steady/B: a note: with colons") == Waiver(
        check="steady/B", reason="a note: with colons"
    )
    assert parse_waiver("steady").reason == ""


def test_several_people_approve_one_manifest_in_turn() -> None:
    made = signed(before=signed(), by="Grace Hopper")

    assert [each.by for each in made.approvals] == ["Ada Lovelace", "Grace Hopper"]


@pytest.mark.parametrize(
    "again", ["ada lovelace", "Ada  Lovelace", "AdaLovelace", "\uff21da Lovelace"]
)
def test_the_same_person_does_not_approve_twice(again: str) -> None:
    made = sign(before=signed(), by=again)

    assert isinstance(made, Refused)
    assert [reason.rule for reason in made.reasons] == ["signed before"]


def test_an_approval_of_other_evidence_is_not_added_to() -> None:
    before = signed().model_copy(update={"manifest_sha256": "cd34" * 16})
    made = sign(before=before, by="Grace Hopper")

    assert isinstance(made, Refused)
    assert [reason.rule for reason in made.reasons] == ["signed before"]


def test_the_second_approver_stands_on_the_waivers_of_the_first() -> None:
    of = evidence(checks=Checks(checks=(FAILED,)))
    waiver = Waiver(check=FAILED.name, reason="measured again by hand, equal")
    first = signed(of=of, waivers=(waiver,))

    assert len(signed(of=of, before=first, by="Grace Hopper").approvals) == 2


def test_the_first_signature_covers_the_same_bytes_after_a_second_approval() -> None:
    first = signed()
    second = signed(before=first, by="Grace Hopper")

    assert signed_bytes(second, 0) == file_text(first).encode()
    assert signed_bytes(second, 1) == file_text(second).encode()
    assert is_as_written(second, file_text(second).encode())


def test_a_signoff_holds_as_long_as_nothing_changes() -> None:
    assert objections(signed(), evidence(), MANIFEST) == ()


def test_a_signoff_holds_on_the_days_after_its_prices_grew_old() -> None:
    """It is judged as of its own day; until when it can be relied on stands in it."""
    late = evidence(plan=plan(candidates=(candidate(price=price(date="2026-05-26")),)))
    made = signed(of=late)

    assert made.valid_until == "2026-08-24"
    assert objections(made, late, MANIFEST) == ()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"manifest_sha256": "cd34" * 16}, "manifest"),
        ({"approvals": ()}, "by"),
        ({"chosen": "C"}, "signoff"),
        ({"sentence": "C is as good."}, "signoff"),
        ({"valid_until": "2030-01-01"}, "signoff"),
        ({"scope": "speed and quality"}, "signoff"),
        ({"approvals": (approval(by="TODO"),)}, "by"),
        ({"approvals": (approval(at="soon"),)}, "at"),
        ({"approvals": (approval(at="2026-08-21T00:00:00+00:00"),)}, "at"),
        ({"approvals": (approval(at="2026-12-01T00:00:00+00:00"),)}, "price"),
    ],
)
def test_a_signoff_that_was_edited_does_not_hold(changes: dict[str, Any], rule: str) -> None:
    edited = signed().model_copy(update=changes)

    assert rule in {each.rule for each in objections(edited, evidence(), MANIFEST)}


def test_a_signoff_written_by_hand_over_a_failed_check_does_not_hold() -> None:
    of = evidence(checks=Checks(checks=(FAILED,)))

    assert [each.rule for each in objections(signed(), of, MANIFEST)] == ["check"]

"""Sentences say what the numbers say, and nothing that they do not."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.quantity import Basis, Quantity
from catalog.screen import Screen, screen, screen_all_offers
from catalog.verdict import Rank, Status, Verdict
from deploy_templates.registry import load_runtimes
from reports.errata import errata
from reports.fact_words import fact_lines, open_lines
from reports.lines import best, merged, needing_proof
from reports.phrases import usable
from reports.words import (
    choice,
    contract_sentence,
    elimination,
    elimination_counts,
    runner_up,
    totals,
)

MIXED = """\
schema_version: 1
name: mixed
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: 1024
  output_tokens: 128
  {load}
  slo: {limits}
candidates:
"""
ENDPOINT = '  - {name: ours, endpoint: ["https://llm.example.org/v1"], price: $2/Mtok}\n'
FP8 = "  - {name: fp8, device: nvidia-l40s, precision: fp8, runtime: vllm}\n"
CPU = "  - {name: cpu, device: intel-xeon6-96vcpu, runtime: vllm_cpu}\n"
H100 = "  - {name: h100, device: nvidia-h100-80gb-sxm5, runtime: vllm}\n"
L40S = "  - {name: l40s, device: nvidia-l40s, runtime: vllm}\n"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.fixture(scope="module")
def vote(catalog):
    runtimes = load_runtimes()

    def of(path: Path, how=screen) -> Screen:
        return how(load_campaign(path), catalog, runtimes, dt.date(2026, 9, 1))

    return of


@pytest.fixture(scope="module")
def canonical(vote) -> Screen:
    return vote(shipped_catalog() / "campaigns" / "canonical.yaml")


@pytest.fixture(scope="module")
def everything(vote) -> Screen:
    return vote(shipped_catalog() / "campaigns" / "canonical.yaml", screen_all_offers)


@pytest.fixture
def mixed(vote, tmp_path):
    """The screen of some candidates under one contract."""

    def of(
        *candidates: str,
        load: str = "concurrency: 16",
        limits: str = "{ttft: 1000 ms, itl: 25 ms}",
    ) -> Screen:
        path = tmp_path / "mixed.yaml"
        path.write_text(MIXED.format(load=load, limits=limits) + "".join(candidates))
        return vote(path)

    return of


def named(screened: Screen, name: str) -> Verdict:
    return next(c for c in screened.candidates if c.name == name)


def test_a_contract_is_one_sentence(canonical) -> None:
    sentence = contract_sentence(canonical.contract)

    assert (
        "16 streams at once; p95 TTFT ≤ 1,000 ms, p95 ITL (TPOT) ≤ 25 ms, goodput ≥ 95%."
        in sentence
    )
    assert "context 1,088 on average, 1,152 at most" in sentence


@pytest.mark.parametrize(
    ("load", "limits", "said"),
    [
        ("rate: 8/s", "{itl: 25 ms}", "8 requests/s; p95 ITL (TPOT) ≤ 25 ms"),
        ("rate: 0.5/s", "{ttft: 2 s, percentile: 99}", "0.5 requests/s; p99 TTFT ≤ 2,000 ms"),
        ("offline: {tokens_per_hour: 2 Mtok/h}", "{}", "offline, 2,000,000 tok/h of output"),
        (
            "concurrency: 4",
            "{itl: 25 ms, itl_statistic: max_gap}",
            "p95 ITL (largest gap) ≤ 25 ms",
        ),
    ],
)
def test_every_kind_of_load_and_limit_is_said(mixed, load, limits, said) -> None:
    assert said in contract_sentence(mixed(L40S, load=load, limits=limits).contract)


def test_an_elimination_names_gate_number_and_limit(canonical) -> None:
    assert elimination(named(canonical, "A")) == (
        "A is rejected at gate 2 (bandwidth): 27.41 ms even at the peak of 614.4 GB/s; "
        "25.00 ms are allowed (by assumption 48.27 ms)."
    )


def test_what_cannot_be_judged_says_what_is_missing(mixed) -> None:
    sentence = elimination(named(mixed(CPU), "cpu"))

    assert sentence.startswith(
        "cpu cannot be judged at gate 2 (bandwidth): the memory bandwidth"
    )


def test_the_choice_is_defended_with_both_columns(canonical) -> None:
    opening, memory, bandwidth, compute, second = choice(canonical)

    assert opening.endswith("at its bound 1M output tokens cost $0.539.")
    assert "17.08 GiB of 80 GiB (+79%) by the bound" in memory
    assert "11.83 ms of 25 ms (+53%) by assumption" in bandwidth
    assert "46.7 ms of 1,000 ms (+95%) by the bound" in compute
    assert "within 2% of B: the tie goes to fewer devices; it is cost-inefficient" in second


def test_without_a_second_there_is_no_runner_up(mixed) -> None:
    alone = mixed(H100)

    assert runner_up(alone) is None
    assert choice(alone)[-1] == "No other candidate passes, so there is no runner-up."
    assert "its price is unknown, and at its bound it delivers most" in choice(alone)[0]


def test_others_that_pass_without_a_price_are_not_called_failures(mixed) -> None:
    unpriced = mixed(H100, H100.replace("name: h100", "name: twin"))

    assert choice(unpriced)[-1].startswith("twin would pass too, but cannot be ranked")


def test_a_pass_at_another_precision_is_no_choice(mixed) -> None:
    sentences = choice(mixed(ENDPOINT, FP8))

    assert len(sentences) == 1
    assert "fp8 would, but at another precision: quality must be proven first." in sentences[0]


def test_survivors_that_do_not_pass_can_be_measured_on_request(mixed) -> None:
    assert "can still be measured" in choice(mixed(ENDPOINT))[0]


def test_the_runner_up_of_all_offers_is_another_machine(everything) -> None:
    first, second = everything.primary, runner_up(everything)

    assert first is not None
    assert second is not None
    assert second.offer != first.offer
    assert second.parity == "contract"


def test_counts_of_all_offers_add_up(everything) -> None:
    counted = [int(line.split()[0].replace(",", "")) for line in elimination_counts(everything)]
    passing = everything.counts[Status.PASS]

    assert sum(counted) + passing == len(everything.candidates)
    assert totals(everything).startswith(
        f"{len(everything.candidates):,} candidates: {passing:,} pass"
    )


def test_runtimes_that_judge_alike_share_a_row(everything) -> None:
    rows = merged(everything.candidates)
    shared = next(row for row in rows if len(row.candidates) > 1)

    assert sum(len(row.candidates) for row in rows) == len(everything.candidates)
    assert len({candidate.runtime for candidate in shared.candidates}) == len(shared.candidates)
    assert len({candidate.best_usd_per_1m_output for candidate in shared.candidates}) == 1
    assert not shared.name.endswith(shared.first.runtime or "")


def test_the_best_rows_keep_the_contracts_precision(everything) -> None:
    rows = best(everything, 10)
    apart = needing_proof(everything, 9)

    assert len(rows) == 10
    assert {row.first.parity for row in rows} == {"contract"}
    assert "primary" in rows[0].ranks
    assert len(apart) == 3
    assert {row.first.parity for row in apart} == {"needs quality proof"}


def test_all_rows_hold_every_candidate(everything) -> None:
    rows = (*best(everything, 0), *needing_proof(everything, 0))

    assert sum(len(row.candidates) for row in rows) == len(everything.candidates)


def test_a_campaign_shows_all_its_candidates_in_its_order(canonical) -> None:
    assert [row.name for row in best(canonical, 1)] == ["A", "B", "C", "D"]
    assert needing_proof(canonical, 30) == ()


def test_open_questions_are_those_of_survivors(canonical) -> None:
    first, *others = open_lines(canonical.candidates)

    assert first.startswith("p95 TTFT, p95 ITL, queue time, goodput")
    assert first.count("goodput") == 1
    assert "B: price: $3.67/h is assumed" in others
    assert not any("$4.50/h" in line for line in others)


def test_unverified_facts_are_named(mixed) -> None:
    assert "unverified: peak compute" in " ".join(fact_lines(mixed(L40S).candidates))


def test_a_fact_of_every_candidate_names_them_all(mixed) -> None:
    both = fact_lines(mixed(L40S, H100).candidates)
    alone = fact_lines(mixed(L40S).candidates)

    assert [line for line in both if line.startswith("every candidate: version not pinned")]
    assert [line for line in alone if line.startswith("version not pinned")]


@pytest.mark.parametrize(
    ("candidate", "gate", "sections"),
    [
        ("A", "memory", []),
        ("B", "memory", ["4", "5"]),
        ("C", "memory", ["1", "4", "5"]),
        ("A", "compute", ["2"]),
        ("B", "interconnect", []),
        ("C", "interconnect", ["3", "6"]),
    ],
)
def test_errata_are_shown_where_they_matter(canonical, candidate, gate, sections) -> None:
    verdict = named(canonical, candidate)
    found = errata(verdict, verdict.gate(gate))

    assert [line.split("section ")[1].split(" ")[0] for line in found] == sections


def test_an_achieved_rate_near_its_peak_points_to_the_epyc(vote) -> None:
    exercise = vote(shipped_catalog() / "campaigns" / "exercise.yaml")
    epyc = named(exercise, "A")

    assert any("section 8" in line for line in errata(epyc, epyc.gate("compute")))


def test_errata_name_sections_that_the_page_has(canonical) -> None:
    page = (Path(__file__).parents[2] / "docs" / "lesson-errata.md").read_text("utf-8")
    lines = [line for c in canonical.candidates for gate in c.gates for line in errata(c, gate)]
    numbers = {line.split("section ")[1].split(" ")[0] for line in lines}

    assert numbers
    assert all(f"## {number}. " in page for number in numbers)


def test_a_thin_margin_of_all_offers_is_not_spelled_out(everything) -> None:
    thin = [c for c in everything.candidates if Rank.THIN_MARGIN in c.ranks]

    assert thin
    assert not any("thin margin" in sentence for sentence in choice(everything))


def test_a_tie_on_the_same_devices_goes_to_the_lower_price(canonical) -> None:
    first = named(canonical, "B")
    dearer = Quantity(value=3.68, unit="USD/h", basis=Basis.ASSUMPTION)
    twin = replace(first, name="E", offer="x/y", price=dearer, ranks=())
    screened = replace(canonical, candidates=(first, twin))

    assert "the tie goes to the lower hourly price" in choice(screened)[-1]


def test_memory_compares_the_assumption_with_what_is_usable(canonical) -> None:
    gate = named(canonical, "B").gate("memory")

    assert usable(gate).value == pytest.approx(72)
    assert usable(named(canonical, "B").gate("bandwidth")).value == 25


def test_stopping_early_loses_no_candidate_of_a_row(everything) -> None:
    kept = [c for c in everything.candidates if c.parity == "contract"]

    assert best(everything, 12) == merged(kept)[:12]

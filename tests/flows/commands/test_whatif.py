"""``runoff whatif`` as a user meets it: options, tables, JSON, refusals."""

from __future__ import annotations

import json

import jsonschema
import pytest

from flows.cli import run as runoff
from reports.conclude import conclude
from reports.manifest import write_manifest
from reports.run import layout
from reports.run.plan_file import LoadPoint, PriceFacts
from reports.run.whatif_file import WhatIf
from reports.schemas import result_schema
from tests.reports.run.builder import CLOSED, NOW, B, C, Made, build_run

RATE = LoadPoint(name="poisson-2", process="poisson", rate_per_s=2.0)
CAPPED = RATE.model_copy(update={"name": "poisson-2-cap8", "max_in_flight": 8})
API = Made(
    name="API",
    price=PriceFacts(value=0.6, unit="USD/Mtok", basis="assumption", stated=True),
    facts={"kind": "endpoint", "host_class": "endpoint", "offer": None},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    offered = [
        Made(name="B", facts={"offer": "gcp/a2-ultragpu-1g"}),
        Made(
            name="C", itl_ms=11.0, price=7.34, devices=2, facts={"offer": "gcp/a2-ultragpu-1g"}
        ),
    ]
    folder = build_run(
        tmp_path_factory.mktemp("runs"),
        (*offered, API),
        points=(CLOSED[4], RATE, CAPPED),
        requests=40,
        duration_s=10.0,
    )
    conclude(folder, now=NOW)
    write_manifest(folder)
    return folder


def answer(folder, capsys, *options):
    assert runoff(["whatif", str(folder.path), *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def prices(found):
    return {each["of"]: each["now"] for each in found["asked"] if each["what"] == "price"}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("B=3.20/h", {"B": "$3.20/h"}),
        ("B=$12/h", {"B": "$12.0/h"}),
        ("B=3.10 EUR/h", {"B": "€3.10/h"}),
        ("gcp/a2-ultragpu-1g=4/h", {"B": "$4.00/h", "C": "$4.00/h"}),
        ("API=0.45/Mtok", {"API": "$0.450/Mtok"}),
        ("C=none", {"C": "not known"}),
    ],
)
def test_a_price_is_a_candidates_or_an_offers(folder, capsys, option, expected):
    assert prices(answer(folder, capsys, "--price", option)) == expected


def test_limits_and_traffic_are_read_with_and_without_units(folder, capsys):
    found = answer(
        folder,
        capsys,
        *("--slo", "ttft=0.8s,p95_gap=40,goodput=90%,percentile=90"),
        *("--demand", "peak=120/min,mean=1,headroom=20%,spare=1"),
    )

    now = {each["what"]: each["now"] for each in found["asked"]}
    assert now["limits"] == "p90 TTFT ≤ 800 ms, p90 p95 gap ≤ 40 ms, goodput ≥ 90%"
    assert now["demand"] == "peak 2/s, mean 1/s, headroom 20%, 1 spare"


def test_a_limit_can_be_dropped(folder, capsys):
    (change,) = answer(folder, capsys, "--slo", "tpot=none,goodput=none")["asked"]

    assert change["now"] == "p95 TTFT ≤ 1,000 ms"


def test_json_holds_both_decisions_under_its_stamp(folder, capsys):
    found = answer(folder, capsys, "--price", "API=60/Mtok")

    assert found["stamp"] == "WHAT-IF"
    assert found["then"] == json.loads(folder.file(layout.DECISION).read_text())
    assert (found["then"]["chosen"], found["now"]["chosen"]) == ("API", "B")
    assert found["is_changed"] is True


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--price", "API=60/Mtok", "--price", "C=none"),
        ("--slo", "ttft=0.8s,goodput=90%", "--demand", "peak=2,mean=1,spare=1"),
        ("--load", "poisson-2-cap8"),
        ("--rate", "5"),
    ],
)
def test_what_is_printed_fits_its_published_schema_and_has_no_other_key(
    folder, capsys, options
):
    found = answer(folder, capsys, *options)

    jsonschema.Draft202012Validator(result_schema("whatif")).validate(found)
    assert WhatIf.model_validate(found).model_dump(mode="json") == found


def test_a_rate_beside_the_measured_ones_gives_no_decision(folder, capsys):
    found = answer(folder, capsys, "--rate", "5")

    assert (found["now"], found["is_changed"]) == (None, None)
    assert {each["answer"] for each in found["answers"]} == {"unknown: not measured"}


def test_the_tables_show_the_run_beside_the_supposition(folder, capsys):
    assert runoff(["whatif", str(folder.path), "--price", "API=60/Mtok"]) == 0

    shown = capsys.readouterr().out
    assert shown.startswith("WHAT-IF: run 20260822-120000, nothing measured, nothing written")
    assert "$0.600/Mtok" in shown
    assert "$60.0/Mtok" in shown
    assert "The decision changes from API to B: " in shown


def test_why_a_candidate_no_longer_complies_stands_in_a_sentence_below(folder, capsys):
    assert runoff(["whatif", str(folder.path), "--slo", "tpot=10.5"]) == 0

    lines = capsys.readouterr().out.splitlines()
    (why,) = (line for line in lines if line.startswith("  C misses: "))
    assert "TPOT" in why


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--price", "X=3/h"], "no such candidate or offer"),
        (["--price", "B=1.20"], "'1.20' has no unit. Write it as B=1.20/h"),
        (["--price", "API=0.45"], "'0.45' has no unit. Write it as API=0.45/Mtok"),
        (["--price", "B=0/h"], "above zero"),
        (["--price", "B=-1/h"], "--price B=-1/h"),
        (["--price", "B=0.5/Mtok"], "paid for by the hour"),
        (["--price", "B=1/h", "--price", "gcp/a2-ultragpu-1g=2/h"], "two prices"),
        (["--slo", "ttft"], "not KEY=VALUE"),
        (["--slo", "e2e=5"], "not KEY=VALUE"),
        (["--slo", "ttft=0"], "no time"),
        (["--slo", "ttft=5 kg"], "does not fit"),
        (["--slo", "ttft=5,ttft=6"], "twice"),
        (["--slo", "goodput=120%"], "no share"),
        (["--slo", "percentile=nan"], "between"),
        (["--demand", "peak=8"], "no mean"),
        (["--demand", "peak=1,mean=8"], "above the peak"),
        (["--demand", "peak=8,mean=1,headroom=100%"], "no capacity"),
        (["--demand", "peak=8,mean=1,spare=x"], "no number"),
        (["--rate", "0"], "no rate"),
        (["--rate", "fast"], "not a quantity"),
        (["--rate", "2"], "poisson-2, poisson-2-cap8 have this rate"),
        (["--load", "closed-99"], "closed-4"),
        (["--rate", "2", "--load", "closed-4"], "both name a load"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_was_seen(folder, capsys, options, message):
    assert runoff(["whatif", str(folder.path), *options]) == 2

    assert message in capsys.readouterr().err


def test_a_run_that_is_not_what_its_manifest_says_is_refused(tmp_path, capsys):
    folder = build_run(tmp_path, (B, C), points=(CLOSED[4],), requests=20, duration_s=5.0)
    conclude(folder, now=NOW)
    write_manifest(folder)
    folder.file(layout.PLAN).write_text(folder.file(layout.PLAN).read_text() + " ")

    assert runoff(["whatif", str(folder.path), "--price", "B=1/h"]) == 7

    assert "not what its manifest says" in capsys.readouterr().err

"""``runoff catalog`` as a user runs it, with the shipped catalog and one of theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalog.json_schema import KINDS
from catalog.load import shipped_catalog
from flows.cli import run

CARD = """\
name: card
title: A card
vendor: Somebody
device_class: cuda
sources:
  sheet: {title: The datasheet, date: 2026-08-01}
marketed_memory: {value: 24 GB, source: sheet}
memory: {value: MEMORY, source: sheet}
"""
OFFERS = """\
cloud: sky
title: A cloud
offers:
  - {name: other, device: card, device_count: 1, region: here, sold_as: share,
     source: unverified}
  - name: one
    device: card
    device_count: 1
    region: here
    sold_as: share
    source: unverified
    date: 2026-08-22
    price: $2400/h
"""
TODAY = ["--today", "2026-08-22"]


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices/card.yaml").write_text(CARD.replace("MEMORY", "24 GiB"))
    return tmp_path


def test_the_shipped_catalog_passes_with_its_known_exception(capsys) -> None:
    assert run(["catalog", "check", *TODAY]) == 0

    lines = capsys.readouterr().out.splitlines()

    assert lines[-1] == "0 errors, 1 warning on 2026-08-22"
    assert "amd-epyc-9654-2s.yaml:25: warning: device amd-epyc-9654-2s" in lines[0]


def test_old_prices_are_one_warning_per_file_and_no_failure(capsys) -> None:
    assert run(["catalog", "check", "--today", "2027-06-01"]) == 0

    *lines, counts = capsys.readouterr().out.splitlines()
    old = [line for line in lines if "stale price" in line]
    files = [line.partition(":")[0] for line in old]
    assert len(files) == len(set(files))
    (aws,) = (line for line in old if "/aws.yaml: warning: " in line)
    assert "the price is 283 days old, stale after 90. Read it again" in aws
    told = sum(int(line.split("warning: ")[1].split()[0]) for line in old)
    assert counts.startswith(f"0 errors, {told + len(lines) - len(old)} warnings")


def test_the_bare_catalog_says_how_entries_are_shown(capsys) -> None:
    assert run(["catalog", "show"]) == 0
    assert "`runoff catalog show KIND NAME`" in capsys.readouterr().out


def test_without_a_date_the_check_takes_todays(capsys) -> None:
    assert run(["catalog", "check"]) == 0

    assert capsys.readouterr().out.splitlines()[-1].startswith("0 errors, ")


def test_an_error_is_named_with_file_line_and_field_and_ends_with_code_2(
    theirs: Path, capsys
) -> None:
    (theirs / "devices/card.yaml").write_text(CARD.replace("MEMORY", "32 GiB"))

    assert run(["catalog", "check", *TODAY, "--catalog", str(theirs)]) == 2

    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(
        f"{theirs}/devices/card.yaml:8: error: device card, memory: 32.0 GiB"
    )


def test_an_offers_finding_lies_in_its_own_row(theirs: Path, capsys) -> None:
    (theirs / "offers").mkdir()
    (theirs / "offers/sky.yaml").write_text(OFFERS)

    assert run(["catalog", "check", *TODAY, "--catalog", str(theirs)]) == 2

    assert (
        f"{theirs}/offers/sky.yaml:13: error: offer sky/one, price" in capsys.readouterr().out
    )


def test_a_runtimes_finding_lies_in_its_capabilities(theirs: Path, capsys) -> None:
    text = (
        shipped_catalog().parent / "deploy_templates/runtimes/sglang/runtime.yaml"
    ).read_text()
    (theirs / "runtimes/sglang").mkdir(parents=True)
    file = theirs / "runtimes/sglang/runtime.yaml"
    file.write_text(
        text.replace('{family: gpt_oss, since: "0.5.1"}', "{family: x, since: '9'}")
    )

    assert run(["catalog", "check", *TODAY, "--catalog", str(theirs)]) == 2

    line = text[: text.index("family: gpt_oss")].count("\n") + 1
    assert f"{file}:{line}: error: runtime sglang, families" in capsys.readouterr().out


def test_files_that_cannot_be_read_are_all_named(theirs: Path, capsys) -> None:
    (theirs / "devices/broken.yaml").write_text("a: [")
    (theirs / "campaigns").mkdir()
    (theirs / "campaigns/mine.yaml").write_text("name: mine\n")

    assert run(["catalog", "check", *TODAY, "--catalog", str(theirs)]) == 2

    out = capsys.readouterr().out
    assert "campaigns/mine.yaml:1: error: key 'schema_version' is missing" in out
    assert "devices/broken.yaml:1: YAML syntax" in out
    assert "2 errors, 1 warning on 2026-08-22" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--today", "tomorrow"], "--today: 'tomorrow' is not a date"),
        (["check", "--catalog", "/absent"], "/absent: there is no such folder"),
        (["show", "devises"], "there is no kind 'devises'. Did you mean 'devices'?"),
        (["show", "device", "nvidia-l5"], "Did you mean 'nvidia-l4'?"),
        (["show", "offers", "aws/p4de"], "Did you mean 'aws/p4de.24xlarge'?"),
        (["schema", "offer"], "there is no kind 'offer'. Did you mean 'offers'?"),
    ],
)
def test_what_cannot_be_answered_says_what_to_do(
    arguments: list[str], message: str, capsys
) -> None:
    assert run(["catalog", *arguments]) == 2

    assert message in capsys.readouterr().err


def test_show_counts_the_entries_and_those_of_the_user(theirs: Path, capsys) -> None:
    assert run(["catalog", "show", "--catalog", str(theirs)]) == 0

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]

    assert next(row for row in rows if row[:1] == ["devices"])[2] == "1"
    assert next(row for row in rows if row[:1] == ["links"])[2] == "0"


def test_show_lists_a_kind_with_whose_each_entry_is(theirs: Path, capsys) -> None:
    assert run(["catalog", "show", "devices", "--catalog", str(theirs)]) == 0

    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}

    assert lines["card"].endswith(str(theirs))
    assert lines["nvidia-l4"].endswith("runoff")


def test_show_gives_value_basis_source_and_date_of_an_entrys_facts(
    theirs: Path, capsys
) -> None:
    assert run(["catalog", "show", "device", "card", "--catalog", str(theirs)]) == 0

    out = capsys.readouterr().out

    assert f"card, from {theirs} ({theirs}/devices/card.yaml)" in out
    memory = next(line for line in out.splitlines() if line.startswith("memory "))
    assert " ".join(memory.split()) == "memory 24 GiB specification The datasheet 2026-08-01"


def test_show_gives_notes_below_the_facts(capsys) -> None:
    assert run(["catalog", "show", "device", "nvidia-a10g"]) == 0

    assert "Sources disagree: llm-cal lists 125 TFLOP/s" in capsys.readouterr().out


def test_a_model_is_shown_by_its_alias(capsys) -> None:
    assert run(["catalog", "show", "model", "llama-3-8b"]) == 0

    assert (
        capsys.readouterr().out.strip().startswith("meta-llama/Meta-Llama-3-8B-Instruct, from")
    )


@pytest.mark.parametrize("kind", ["", "devices", "links", "models", "offers", "runtimes"])
def test_show_as_json_holds_nothing_else(kind: str, capsys) -> None:
    assert run(["catalog", "show", *([kind] if kind else []), "--json"]) == 0

    value = json.loads(capsys.readouterr().out)

    if kind:
        assert {"kind", "name", "origin", "file", "summary"} == set(value[0])
    else:
        assert value["devices"] >= 42


def test_an_entry_as_json_has_numbers_with_units(capsys) -> None:
    assert run(["catalog", "show", "device", "nvidia-l4", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)

    facts = {fact["field"]: fact for fact in value["facts"]}
    assert value["origin"] == "runoff"
    assert (facts["memory_bandwidth"]["value"], facts["memory_bandwidth"]["unit"]) == (
        3e11,
        "B/s",
    )
    assert value["notes"]


@pytest.mark.parametrize("kind", KINDS)
def test_schema_prints_a_json_schema_and_nothing_else(kind: str, capsys) -> None:
    assert run(["catalog", "schema", kind]) == 0

    assert json.loads(capsys.readouterr().out)["$schema"].endswith("2020-12/schema")


def test_the_example_overlay_of_owned_hardware_is_sound(capsys) -> None:
    examples = str(shipped_catalog() / "examples")

    assert run(["catalog", "check", *TODAY, "--catalog", examples]) == 0
    assert run(["catalog", "show", "offers", "--catalog", examples]) == 0

    assert "owned/example-m3-ultra" in capsys.readouterr().out

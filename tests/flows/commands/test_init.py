"""``runoff init`` writes a campaign that a person can read and that screens as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalog.load import load_campaign
from catalog.use_cases import (
    SampleLengths,
    campaign_text,
    read_use_case,
    tokens_by_rule_of_thumb,
    use_cases,
)
from flows.cli import run
from flows.clouds import all_clouds

TODAY = ["--today", "2026-09-01"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("use_case", use_cases())
def test_what_init_writes_survives_the_screen(use_case: str, capsys) -> None:
    assert run(["init", "mine", "--use-case", use_case]) == 0
    assert run(["screen", "mine.yaml", "--json", *TODAY]) == 0

    screened = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))

    assert screened["name"] == "mine"
    assert any(each["verdict"] == "pass" for each in screened["candidates"])


@pytest.mark.parametrize("use_case", use_cases())
def test_an_offer_that_no_driver_rents_is_said_to_be_rented_by_hand(use_case: str) -> None:
    assert run(["init", "mine", "--use-case", use_case]) == 0
    file = Path("mine.yaml")
    candidates = load_campaign(file).candidates
    lines = file.read_text().splitlines()

    by_hand = []
    for each in candidates:
        is_rented = any(cloud.serves(None, each.offer) for cloud in all_clouds())
        at = next(n for n, line in enumerate(lines) if f"name: {each.name}," in line)
        above = next(n for n in range(at - 1, 0, -1) if not lines[n].lstrip().startswith("#"))
        assert is_rented is ("host: ssh:NAME" not in " ".join(lines[above + 1 : at]))
        if not is_rented:
            by_hand.append(each.name)
            lines[at] = lines[at].replace("}", ", host: ssh:gpu-box}")

    file.write_text("\n".join(lines))
    hosts = {each.name: each.host for each in load_campaign(file).candidates}
    assert {name for name, host in hosts.items() if host == "ssh:gpu-box"} == set(by_hand)
    assert run(["screen", "mine.yaml", *TODAY]) == 0


@pytest.mark.parametrize("use_case", use_cases())
def test_every_value_stands_below_its_reason(use_case: str) -> None:
    lines = campaign_text("mine", read_use_case(use_case)).splitlines()
    contract = lines[lines.index("contract:") + 1 : lines.index("candidates:")]

    values = [n for n, line in enumerate(contract) if line and not line.endswith("slo:")]
    bare = [
        contract[n]
        for n in values
        if not contract[n].lstrip().startswith("#")
        and not contract[n - 1].lstrip().startswith("#")
    ]

    assert bare == []


def test_the_four_use_cases_are_those_of_the_help() -> None:
    assert use_cases() == ("agent", "batch", "chat", "rag")


def test_a_file_that_exists_is_never_overwritten(capsys) -> None:
    Path("mine.yaml").write_text("precious")

    assert run(["init", "mine"]) == 2
    assert Path("mine.yaml").read_text() == "precious"
    assert "mine.yaml: this file exists" in capsys.readouterr().err


def test_a_sample_gives_the_lengths_by_a_stated_rule_of_thumb() -> None:
    Path("prompt.txt").write_text("x" * 4000)
    Path("answer.txt").write_text("y" * 401)

    code = run(["init", "mine", "--prompt-file", "prompt.txt", "--answer-file", "answer.txt"])
    contract = load_campaign(Path("mine.yaml")).contract

    assert code == 0
    assert contract.prompt_tokens.maximum == 1000
    assert contract.output_tokens.maximum == 101
    assert "one token per 4 bytes of text" in Path("mine.yaml").read_text()


def test_a_tokenizer_counts_the_sample_instead() -> None:
    import tokenizers

    vocabulary = {"[UNK]": 0, "one": 1, "two": 2}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")
    counter = tokenizers.Tokenizer(model)
    counter.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    counter.save("tokenizer.json")
    Path("prompt.txt").write_text("one two " * 50)
    Path("answer.txt").write_text("two " * 7)

    sample = ["--prompt-file", "prompt.txt", "--answer-file", "answer.txt"]
    code = run(["init", "mine", *sample, "--tokenizer", "tokenizer.json"])
    contract = load_campaign(Path("mine.yaml")).contract

    assert code == 0
    assert (contract.prompt_tokens.maximum, contract.output_tokens.maximum) == (100, 7)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["init", "../mine"], "is not a campaign name"),
        (["init", "--use-case", "chatt"], "Did you mean 'chat'?"),
        (["init", "mine", "--prompt-file", "prompt.txt"], "half of the sample is missing"),
        (["init", "mine", "--tokenizer", "t.json"], "there is no sample to count"),
        (
            ["init", "mine", "--prompt-file", "no.txt", "--answer-file", "no.txt"],
            "no.txt: there is no such file",
        ),
        (
            [
                *["init", "mine", "--prompt-file", "prompt.txt"],
                *["--answer-file", "prompt.txt", "--tokenizer", "prompt.txt"],
            ],
            "this is not a tokenizer.json",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_do(arguments, said, capsys) -> None:
    Path("prompt.txt").write_text("hello")

    assert run(arguments) == 2
    assert said in capsys.readouterr().err
    assert not Path("mine.yaml").exists()


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 1), ("word", 1), ("words", 2), ("你好世界", 3)]
)
def test_four_bytes_of_text_are_one_token(text: str, tokens: int) -> None:
    assert tokens_by_rule_of_thumb(text) == tokens


def test_a_sample_replaces_a_shared_prefix_too() -> None:
    sample = SampleLengths(prompt_tokens=10, output_tokens=5, counted="counted by hand")

    assert "cached_prefix_tokens" not in campaign_text("m", read_use_case("agent"), sample)

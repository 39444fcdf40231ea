"""`runoff rehearse`: flags, files, and what it shows."""

from __future__ import annotations

import json
import os

import pytest

from flows.cli import run
from flows.rehearsal import Settings


def shown(capsys, *arguments):
    code = run(["rehearse", "--show", *arguments])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def test_show_prints_every_setting_and_can_be_read_back(capsys):
    assert Settings.from_json(shown(capsys)) == Settings()


def test_flags_win_over_assignments_over_the_file_over_the_runtimes_manners(capsys, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"engine": {"max_num_seqs": 8, "kv_blocks": 500, "token_budget": 99}}')

    engine = shown(
        capsys,
        *("--like", "llama_server", "--settings", str(path)),
        *("--set", "engine.kv_blocks=600", "--max-num-seqs", "16"),
    )["engine"]

    assert (engine["max_num_seqs"], engine["kv_blocks"], engine["token_budget"]) == (
        16,
        600,
        99,
    )


@pytest.mark.parametrize(
    ("flag", "value", "place"),
    [
        ("--port", 8123, ("port",)),
        ("--model", "m", ("model",)),
        ("--seed", 7, ("seed",)),
        ("--truth", "t.jsonl", ("truth",)),
        ("--decode-ms", 1.5, ("steps", "decode_base_ms")),
        ("--decode-per-sequence-ms", 0.5, ("steps", "decode_per_sequence_ms")),
        ("--decode-per-context-token-ms", 0.5, ("steps", "decode_per_context_token_ms")),
        ("--prefill-ms", 2.5, ("steps", "prefill_base_ms")),
        ("--prefill-per-token-ms", 0.5, ("steps", "prefill_per_token_ms")),
        ("--noise", 0.25, ("steps", "noise")),
        ("--scheduler", "prefill_first", ("engine", "scheduler")),
        ("--max-num-seqs", 3, ("engine", "max_num_seqs")),
        ("--token-budget", 300, ("engine", "token_budget")),
        ("--kv-blocks", 30, ("engine", "kv_blocks")),
        ("--queue-limit", 3, ("engine", "queue_limit")),
        ("--tokens-per-chunk", 3, ("stream", "tokens_per_chunk")),
    ],
)
def test_each_flag_sets_what_it_names(capsys, flag, value, place):
    found = shown(capsys, flag, str(value))
    for key in place:
        found = found[key]

    assert found == value


def test_the_prefix_cache_has_a_flag_for_both_ways(capsys):
    assert shown(capsys, "--prefix-cache")["engine"]["prefix_cache"] is True
    off = shown(capsys, "--like", "vllm", "--no-prefix-cache")
    assert off["engine"]["prefix_cache"] is False


def test_the_key_comes_from_the_environment_and_is_not_shown(capsys, monkeypatch):
    monkeypatch.setenv("REHEARSAL_KEY", "s3cret")

    assert shown(capsys, "--api-key-env", "REHEARSAL_KEY")["identity"]["api_key"] == "***"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "engine.max_seqs=1"], "did you mean 'max_num_seqs'?"),
        (["--like", "ollama"], "there is no runtime 'ollama'"),
        (["--scheduler", "magic"], "needs 'chunked' or 'prefill_first' or 'independent'"),
        (["--api-key-env", "UNSET_KEY"], "UNSET_KEY is not set"),
        (["--noise", "5"], "noise is 5.0: needs at most 1"),
    ],
)
def test_a_wrong_flag_is_exit_2_with_a_sentence(capsys, arguments, message):
    assert run(["rehearse", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_truth_that_could_not_be_written_is_told_before_serving(capsys, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for flags in (["--truth", str(pipe)], ["--set", f"truth={tmp_path / 'no' / 'truth'}"]):
        assert run(["rehearse", *flags]) == 2
        assert "--truth" in capsys.readouterr().err
    assert pipe.is_fifo()

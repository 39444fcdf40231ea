"""Flags become a cell, or an error that names the flag and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.bench.flags import Flags, cell_spec
from flows.bench.spec import Amount, Load, SharedPrefix, Slo
from flows.errors import UsageError


def test_the_lessons_command_is_a_poisson_cell_with_a_cap_and_fifty_discarded(spec_of):
    spec = spec_of(
        prompt_tokens="1024",
        output_tokens="128",
        concurrency=16,
        arrival_process="poisson",
        request_rate=8.0,
        num_requests=250,
        warmup_requests=50,
        ttft_slo_ms=1000.0,
        itl_slo_ms=25.0,
    )

    assert spec.load == Load(process="poisson", rate_per_s=8.0, concurrency=16)
    assert spec.amount == Amount(
        requests=250, duration_s=None, warmup="fixed", warmup_requests=50
    )
    assert spec.slo == Slo(ttft_ms=1000.0, itl_ms=25.0)
    assert (spec.seed, spec.temperature, spec.content.forced) == (42, 0.0, True)
    assert spec.cell == "poisson-8-c16"


def test_without_warmup_flags_it_is_adaptive_with_at_most_a_hundred_discarded(spec_of):
    amount = spec_of().amount

    assert amount == Amount(
        requests=300, duration_s=None, warmup="adaptive", warmup_requests=100
    )


def test_adaptive_makes_the_number_of_warmup_requests_its_limit(spec_of):
    amount = spec_of(warmup="adaptive", warmup_requests=40, num_requests=90).amount

    assert (amount.warmup, amount.warmup_requests, amount.requests) == ("adaptive", 40, 90)


@pytest.mark.parametrize(
    ("flags", "process"),
    [
        ({"concurrency": 4}, "closed"),
        ({"request_rate": 2.0}, "poisson"),
        ({"request_rate": 2.0, "concurrency": 4}, "poisson"),
        ({"trace": Path("t.jsonl")}, "trace"),
    ],
)
def test_the_arrival_process_follows_from_what_is_given(spec_of, flags, process):
    assert spec_of(**flags).load.process == process


def test_no_rate_has_a_cap_unless_one_is_given(spec_of):
    assert spec_of(request_rate=8.0).load.concurrency is None


def test_the_first_wave_of_a_closed_loop_is_part_of_the_warmup_unless_none_is_asked(spec_of):
    few = spec_of(concurrency=16, warmup_requests=5, num_requests=50)
    none = spec_of(concurrency=16, warmup_requests=0, num_requests=50)

    assert few.amount.discarded(few.load) == 16
    assert none.amount.discarded(none.load) == 0


def test_a_key_comes_from_the_environment_and_headers_are_split_at_the_first_colon(spec_of):
    spec = spec_of(api_key_env="KEY", headers=["X-Team: search:eu", "A:b"])

    assert spec.target.endpoints[0].headers == {
        "X-Team": "search:eu",
        "A": "b",
        "Authorization": "Bearer sk-planted",
    }


def test_a_malformed_header_is_refused_without_repeating_what_may_be_a_key(spec_of):
    with pytest.raises(UsageError) as caught:
        spec_of(headers=["Authorization sk-planted"])

    assert "--header number 1" in str(caught.value)
    assert "sk-planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("256", SharedPrefix(tokens=256)),
        ("25%", SharedPrefix(share=0.25)),
        ("0.5", SharedPrefix(share=0.5)),
    ],
)
def test_a_shared_prefix_is_a_number_of_tokens_or_a_share(spec_of, text, shared):
    assert spec_of(shared_prefix=text).content.shared == shared


def test_a_shared_prefix_leaves_at_least_one_token_of_a_short_prompt():
    assert SharedPrefix(tokens=256).of(100) == 99
    assert SharedPrefix(share=0.25).of(1000) == 250


@pytest.mark.parametrize(
    ("flags", "seen"),
    [
        ({"arrival_process": "poisson", "concurrency": 4}, "--request-rate: it is missing"),
        ({"arrival_process": "closed", "request_rate": 2.0}, "--concurrency: it is missing"),
        ({"arrival_process": "trace", "concurrency": 4}, "--trace: it is missing"),
        (
            {"arrival_process": "closed", "request_rate": 2.0, "concurrency": 4},
            "--request-rate",
        ),
        ({"burstiness": 2.0}, "--burstiness: it has no meaning with arrivals closed"),
        ({"dataset": Path("d"), "trace": Path("t")}, "--dataset: it has no meaning"),
        ({"dataset": Path("d"), "prompt_tokens": "5"}, "--prompt-tokens: it has no meaning"),
        ({"think_time_ms": 5.0}, "--think-time: it has no meaning"),
        ({"request_rate": 0.0}, "--request-rate: 0 is not above 0"),
        ({"request_rate": float("nan")}, "--request-rate: nan is not above 0"),
        ({"duration_s": -1.0}, "--duration: -1 is not above 0"),
        ({"duration_s": 9.0, "num_requests": 9}, "--duration: --num-requests is given too"),
        ({"goodput": 1.0}, "--goodput: 1 is no share to prove"),
        ({"temperature": -1.0}, "--temperature: -1 is not 0 or above"),
        ({"warmup": "fixed"}, "--warmup fixed: it says not how many"),
        ({"num_requests": 50, "warmup_requests": 50}, "leave nothing to measure"),
        ({"num_requests": 16, "concurrency": 16, "warmup_requests": 1}, "leave nothing"),
        ({"prompt_tokens": "many"}, "--prompt-tokens: 'many' is not a length distribution"),
        ({"output_tokens": "0"}, "--output-tokens: '0' has a length below one token"),
        ({"prompt_tokens": "file:/no/such"}, "--prompt-tokens /no/such: No such file"),
        ({"shared_prefix": "1024"}, "--shared-prefix: '1024' leaves no prompt"),
        ({"shared_prefix": "all"}, "--shared-prefix: 'all' leaves no prompt"),
        ({"api_key_env": "ABSENT"}, "--api-key-env: the variable ABSENT is not set"),
        ({"ca_file": Path("/no/ca.pem")}, "--ca-file: /no/ca.pem is no file"),
        ({"shards": 5}, "--shards: 5 processes cannot share a concurrency of 4"),
        (
            {"endpoints": ["http://[::1]/v1/completions", "http://[::1]/v1/chat/completions"]},
            "--endpoint: completions and chat addresses are mixed",
        ),
    ],
)
def test_a_contradiction_is_told_by_the_name_of_its_flag(spec_of, flags, seen):
    with pytest.raises(UsageError) as caught:
        spec_of(**flags)

    assert seen in str(caught.value)
    assert caught.value.exit_code == 2


def test_lengths_from_a_file_and_unbounded_forms_are_accepted(spec_of, tmp_path):
    path = tmp_path / "lengths.txt"
    path.write_text("30\n10\n20\n")

    content = spec_of(prompt_tokens=f"file:{path}", output_tokens="normal:128:16").content

    assert content.prompt.values == (10, 20, 30)
    assert (content.output.maximum, content.output.centre) == (128 + 4 * 16, 128)


def test_an_unbounded_lognormal_is_cut_four_sigma_out(spec_of):
    assert spec_of(prompt_tokens="lognormal:100:0.5").content.prompt.maximum == 739


def test_flags_hold_no_more_than_the_command_line_gave_them():
    assert Flags(endpoints=[], model="m").prompt_tokens is None
    with pytest.raises(UsageError, match="--concurrency"):
        cell_spec(Flags(endpoints=["http://[::1]/completions"], model="m"), {})

"""Answers of real servers, held against those of a real reference."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from catalog.fixed_prompts import id_prompts
from flows.bench.endpoint import checked_endpoint
from flows.load.plan import Tls
from flows.quality.answering import Server, returns_prompt_logprobs
from flows.quality.harness import Tasks
from flows.quality.measuring import (
    Reference,
    Setup,
    given_as_candidate,
    given_by_candidate,
    given_by_reference,
    record,
)
from reports.quality.tables import read_samples
from reports.run.plan_file import AgreementFacts, QualityFacts
from reports.run.quality_file import ReferenceFacts
from tests.e2e.quality.conftest import VOCABULARY

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("quality")]
SETUP = Setup(
    asked=QualityFacts(reference="float16", agreement=AgreementFacts(answer_tokens=8)),
    prompts=id_prompts(VOCABULARY),
    answer_tokens=8,
    streams=4,
    tasks=Tasks(names=()),
    environment={},
    look=lambda: None,
    said=lambda _what: None,
)


def server(url):
    return Server(endpoint=checked_endpoint(url, {}, Tls()), model="small", is_ids=True)


@pytest.fixture(scope="module")
def reference(servers):
    given = given_by_reference(server(servers["sixteen"]), SETUP)
    return Reference(facts=ReferenceFacts(name="sixteen"), given=given)


@pytest.fixture
def judged(servers, reference):
    def judge(name):
        given = given_by_candidate(server(servers[name]), SETUP, reference)
        return record(name, SETUP, reference, given, is_dummy=True).file

    return judge


def test_eight_bits_hold_the_limits(judged):
    found = judged("eight")

    assert found.verdict == "holds", found.why
    assert found.left_out == ()
    assert found.agreement.prompts == 200
    assert found.agreement.identical < 200
    assert 0 < found.agreement.kl < 0.05
    assert found.agreement.kl_excess.detectable > 0


def test_a_damaged_checkpoint_misses_the_same_limits(judged):
    found = judged("damaged")

    assert found.verdict == "misses", found.why
    assert found.agreement.clear_excess.low > 0.05
    assert found.agreement.kl_excess.low > 0.05


def test_the_reference_against_itself_is_the_noise_floor(reference):
    given = given_as_candidate(reference.given)

    found = record("sixteen", SETUP, reference, given, is_dummy=True, is_reference=True).file

    assert found.verdict == "holds"
    assert found.agreement.clear_excess.mean == 0
    assert found.agreement.identical == found.agreement.prompts


def test_llama_server_gives_no_log_probabilities_of_prompts(servers):
    assert not returns_prompt_logprobs(server(servers["sixteen"]))
    assert not returns_prompt_logprobs(server(servers["eight"]))


def test_the_command_runs_own_questions_through_the_harness(servers, questions, tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "flows.cli", "--debug", "quality"),
            *("--endpoint", servers["eight"], "--reference", servers["sixteen"]),
            *("--model", "small", "--vocabulary", str(VOCABULARY), "--concurrency", "4"),
            *("--answer-tokens", "8", "--task", f"file:{questions}", "--samples", "6"),
            *("--out", tmp_path / "found", "--json"),
        ],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 5, done.stderr  # six questions prove nothing
    (found,) = json.loads(done.stdout)
    assert found["left_out"] == []
    (task,) = found["tasks"]
    assert (task["kind"], task["metric"]) == ("generation", "exact_match")
    assert task["questions"] == 6
    assert task["verdict"] == found["verdict"] == "inconclusive"
    assert task["needed"] is None  # random weights answer none: there is nothing to lose
    rows = read_samples(tmp_path / "found" / "endpoint.samples.parquet")
    assert [row.target for row in rows] == ["A"] * 6
    assert set(found["files"]) == {
        "endpoint.answers.parquet",
        "endpoint.samples.parquet",
    }


def test_a_server_that_is_not_there_is_an_infrastructure_error(servers):
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "flows.cli", "quality", "--model", "small"),
            *("--endpoint", "http://127.0.0.1:9/v1/completions"),
            *("--reference", "http://127.0.0.1:9/v1/completions"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 8
    assert "nothing listens there" in done.stderr

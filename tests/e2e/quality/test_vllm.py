"""A task scored by log-likelihood, on the real vLLM of this machine's CPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request

import pytest

from flows.bench.endpoint import checked_endpoint
from flows.bench.http import post
from flows.checkpoint import make_dummy
from flows.load.plan import Tls
from flows.quality.answering import (
    Server,
    fitted,
    greedy,
    read_answer,
    returns_prompt_logprobs,
)
from flows.quality.harness import Tasks, scores
from flows.quality.questions import read_questions
from tests.e2e.engines.conftest import free_port
from tests.e2e.quality.conftest import SMALL, wait_until_ready

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("vllm")]


@pytest.fixture(scope="module")
def url(vllm_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vllm")
    port = free_port()
    words = [str(vllm_python), "-m", "vllm.entrypoints.openai.api_server"]
    words += ["--model", str(make_dummy(SMALL, folder, format="hf").path)]
    words += ["--served-model-name", "small", "--host", "127.0.0.1", "--port", str(port)]
    words += ["--max-model-len", "256", "--max-num-seqs", "4", "--enforce-eager"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    environment |= {"VLLM_CPU_KVCACHE_SPACE": "1"}
    log = folder / "vllm.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            words, stdout=output, stderr=output, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            wait_until_ready(process, port, log)
            yield f"http://127.0.0.1:{port}/v1/completions"
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)


def asked(address, body):
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def likelihood(url, prompt, letter):
    """The log-probability of a letter behind a prompt, asked of the server itself."""
    given = {"model": "small", "prompt": prompt}
    tokens = asked(url.replace("v1/completions", "tokenize"), given)
    body = {"model": "small", "prompt": prompt + letter, "max_tokens": 1, "temperature": 0}
    body |= {"logprobs": 1, "echo": True}
    found = asked(url, body)["choices"][0]["logprobs"]["token_logprobs"]
    return sum(found[len(tokens["tokens"]) : -1])


def test_choices_are_scored_by_their_likelihood_under_the_server(url, questions):
    server = Server(endpoint=checked_endpoint(url, {}, Tls()), model="small")
    task = f"file:{questions}"
    rows = read_questions(questions)

    assert returns_prompt_logprobs(server)
    (scored,) = scores(
        server,
        Tasks(names=(task,), files={task: rows}, has_prompt_logprobs=True),
        streams=2,
        environment=os.environ,
        look=lambda: None,
    )

    assert scored.refused is None
    assert scored.kind == "log-likelihood"
    assert {row.metric for row in scored.rows} == {"acc"}
    for row, asked_for in zip(scored.rows, rows.rows, strict=True):
        found = [
            likelihood(url, asked_for["prompt"], letter) for letter in asked_for["letters"]
        ]
        assert row.score == float(found.index(max(found)) == asked_for["target"])


def test_vllm_lists_twenty_tokens_of_ids_and_of_texts(url):
    for prompt in ((500, 600, 700), "one two"):
        server = Server(
            endpoint=checked_endpoint(url, {}, Tls()),
            model="small",
            is_ids=not isinstance(prompt, str),
        )

        (found,) = greedy(
            fitted(server, prompt), [prompt], tokens=4, streams=1, look=lambda: None
        )

        assert len(found.tokens) == 4
        assert 20 <= len(found.top) <= 21


def test_an_answer_that_vllm_ends_at_once_is_empty(url):
    server = Server(endpoint=checked_endpoint(url, {}, Tls()), model="small")
    body = {"model": "small", "prompt": "one two", "max_tokens": 3, "temperature": 0}
    body |= {"logprobs": 3, "logit_bias": {"2": 100}}

    found = read_answer(post(server.endpoint, json.dumps(body), 60), server)

    assert found.tokens == ()
    assert "" in found.top

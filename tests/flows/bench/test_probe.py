"""The probe: what a server counts, and which form of prompt it takes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from flows.bench.probe import survey
from flows.errors import InfrastructureError
from flows.rehearsal import Settings, start

Answer = tuple[int, Any]


@contextmanager
def served(answer: Callable[[dict[str, Any]], Answer]) -> Iterator[str]:
    """An address whose POSTs are answered by a function of the body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            status, body = answer(json.loads(self.rfile.read(length)))
            payload = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_arguments: object) -> None:
            """Tests read answers, not logs."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def usage(tokens: int) -> Answer:
    return 200, {"choices": [{"text": "a"}], "usage": {"prompt_tokens": tokens}}


def refusal(message: str, status: int = 400) -> Answer:
    return status, {"error": {"message": message}}


def surveyed(spec_of, answer, path="/v1/completions", **flags):
    with served(answer) as url:
        return survey(spec_of(endpoints=[url + path], **flags))


def test_token_ids_are_counted_one_by_one_and_what_is_put_in_front_is_overhead(spec_of):
    found = surveyed(spec_of, lambda body: usage(len(body["prompt"]) + 1))

    assert found.alphabet.opening == "["
    assert found.overhead_tokens == 1
    assert found.symbols(1024) == 1023


def test_a_server_that_refuses_token_ids_gets_text_that_is_calibrated(spec_of):
    def text_only(body):
        if not isinstance(body["prompt"], str):
            return refusal("prompt must be a string")
        return usage(7 + len(body["prompt"].split()) * 3 // 2)

    found = surveyed(spec_of, text_only)

    assert found.alphabet.opening == '"'
    assert found.tokens_per_symbol == 1.5
    assert found.overhead_tokens == 7
    assert found.symbols(1024) == 678


def test_a_server_that_takes_token_ids_for_text_is_not_believed(spec_of):
    def characters(body):
        return usage(len(json.dumps(body["prompt"])) // 2)

    assert surveyed(spec_of, characters).alphabet.opening == '"'


def test_a_tiny_vocabulary_gets_small_token_ids(spec_of):
    def tiny(body):
        if max(body["prompt"]) >= 256:
            return refusal("token id is out of vocabulary")
        return usage(len(body["prompt"]))

    assert surveyed(spec_of, tiny).alphabet.symbols[-1] == "159"


def test_a_chat_template_is_found_with_text(spec_of):
    def chat(body):
        (message,) = body["messages"]
        return usage(11 + len(message["content"].split()))

    found = surveyed(spec_of, chat, "/v1/chat/completions")

    assert (found.overhead_tokens, found.tokens_per_symbol) == (11, 1)
    assert found.symbols(1024) == 1013


def test_a_server_without_usage_is_measured_with_lengths_as_sent(spec_of):
    found = surveyed(spec_of, lambda _body: (200, {"choices": []}))

    assert not found.counts
    assert found.symbols(1024) == 1024


def test_a_closed_loop_by_duration_times_one_whole_request(spec_of):
    seen = []

    def answer(body):
        seen.append((len(body["prompt"]), body["max_tokens"]))
        return usage(len(body["prompt"]))

    found = surveyed(spec_of, answer, concurrency=2, duration_s=5.0, output_tokens="99")

    assert found.single_s is not None
    assert seen == [(24, 1), (1024, 99)]


def test_every_endpoint_is_asked(spec_of):
    with (
        served(lambda body: usage(len(body["prompt"]))) as good,
        served(lambda _body: refusal("engine is dead", 500)) as bad,
        pytest.raises(InfrastructureError, match="HTTP 500: engine is dead"),
    ):
        survey(spec_of(endpoints=[good + "/v1/completions", bad + "/v1/completions"]))


def test_one_rehearsal_engine_among_the_endpoints_makes_all_of_it_a_simulation(spec_of):
    with (
        served(lambda body: usage(len(body["prompt"]))) as other,
        start(Settings.from_json({"identity": {"metrics": False}})) as engine,
    ):
        addresses = [other + "/v1/completions", engine.url + "/v1/completions"]
        model = "rehearsal"
        found = [
            survey(spec_of(endpoints=chosen, model=model)).is_simulation
            for chosen in (addresses[:1], addresses[1:], addresses, addresses[::-1])
        ]

    assert found == [False, True, True, True]


@pytest.mark.parametrize(
    ("answer", "seen", "do"),
    [
        (refusal("no", 401), "HTTP 401: no", "--api-key-env"),
        (refusal("The model `m` does not exist.", 404), "does not serve", "--model"),
        ((404, {"detail": "Not Found"}), "HTTP 404: Not Found", "The path is not"),
        (refusal("unknown field ignore_eos"), "ignore_eos", "--output natural"),
        (refusal("too long"), "HTTP 400: too long", "--prompt-tokens"),
        (refusal("slow down", 429), "HTTP 429: slow down", "Wait until"),
        ((502, b"<html>bad gateway</html>"), "bad gateway", "Wait until"),
        ((307, b""), "HTTP 307", "give the address that answers"),
        ((200, b"<html>hello</html>"), "not JSON", "OpenAI-compatible"),
    ],
)
def test_a_refusal_says_what_was_seen_and_what_to_do(spec_of, answer, seen, do):
    with pytest.raises(InfrastructureError) as caught:
        surveyed(spec_of, lambda _body: answer)

    assert seen in str(caught.value)
    assert do in str(caught.value)
    assert caught.value.exit_code == 8


@pytest.mark.parametrize(
    "answer",
    [refusal("bad key sk-planted-1", 401), (200, b"sk-planted-1"), refusal("sk-planted-1")],
)
def test_a_refusal_does_not_repeat_the_key(spec_of, answer):
    with pytest.raises(InfrastructureError) as caught:
        surveyed(spec_of, lambda _body: answer, headers=["Authorization: Bearer sk-planted-1"])

    assert "***" in str(caught.value)
    assert "planted" not in str(caught.value)


def test_the_probe_asks_with_the_cells_own_parameters(spec_of):
    bodies = []

    def answer(body):
        bodies.append(body)
        return usage(len(body["prompt"]))

    surveyed(spec_of, answer, temperature=0.7, seed=9)

    assert bodies[0] | {"prompt": None} == {
        "model": "m",
        "max_tokens": 1,
        "temperature": 0.7,
        "seed": 9,
        "stream": False,
        "ignore_eos": True,
        "prompt": None,
    }

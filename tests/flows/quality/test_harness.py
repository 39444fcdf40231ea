"""Own questions through the real harness: what counts as right, and which scores count."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flows.bench.endpoint import checked_endpoint
from flows.load.plan import Tls
from flows.quality.answering import Server
from flows.quality.harness import Tasks, scores, unknown_tasks
from flows.quality.questions import read_questions

WRITTEN = {  # by the first word of a question
    "sign": " 5",
    "point": " 15",
    "stop": " 144.\nQuestion: no more",
    "case": " paris",
    "date": " 2024-01-01",
    "part": " 1",
    "short": " U.S.A.",
}


class Knowing(BaseHTTPRequestHandler):
    """A completions call that writes what stands above."""

    def log_message(self, *_words):
        """Be silent."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompts = [asked["prompt"]] if isinstance(asked["prompt"], str) else asked["prompt"]
        written = [WRITTEN[each.split()[1]].split("\n")[0] for each in prompts]
        choices = [{"index": i, "text": text} for i, text in enumerate(written)]
        body = json.dumps({"choices": choices}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Knowing) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/completions"
        server.shutdown()


def test_a_text_is_right_as_it_stands_but_for_case_and_a_full_stop(url, tmp_path):
    rows = [
        {"question": "sign of it?", "answer": "-5"},
        {"question": "point of it?", "answer": "1.5"},
        {"question": "stop there?", "answer": "144"},
        {"question": "case of it?", "answer": "Paris"},
        {"question": "date of it?", "answer": "2024-01-01"},
        {"question": "part of it?", "answer": "[1, 2]"},
        {"question": "short for it?", "answer": "U.S.A."},
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = Server(endpoint=checked_endpoint(url, {}, Tls()), model="m")
    task = f"file:{path}"

    (found,) = scores(
        server,
        Tasks(names=(task,), files={task: read_questions(path)}),
        streams=2,
        environment=os.environ,
        look=lambda: None,
    )

    assert found.refused is None
    assert {row.target: row.score for row in found.rows} == {
        "-5": 0,
        "1.5": 0,
        "144": 1,
        "Paris": 1,
        "2024-01-01": 1,
        "[1, 2]": 0,
        "U.S.A": 1,
    }


def test_a_name_that_is_no_task_is_found_without_a_server_or_a_hub():
    found = unknown_tasks(["gsm8k", "file:own.jsonl", "gsmk8"], os.environ, lambda: None)

    assert found == ("gsmk8",)


def sample(value):
    return {
        "filter": "none",
        "metrics": ["score"],
        "score": value,
        "doc_id": 0,
        "doc_hash": "0" * 64,
        "target": "A",
        "filtered_resps": ["A"],
    }


@pytest.mark.parametrize("value", [(0, 1), [0.5], 27.5, -1, float("nan")])
def test_a_metric_that_gives_no_question_a_share_is_no_accuracy(value):
    from flows.quality.harness_child import _rows

    with pytest.raises(ValueError, match="gives no question a score from 0 to 1"):
        list(_rows({"task": [sample(value)]}, {}))


def test_a_metric_of_which_less_is_better_is_no_accuracy():
    from flows.quality.harness_child import _rows

    with pytest.raises(ValueError, match="the less score the better"):
        list(_rows({"task": [sample(0.5)]}, {"task": {"score": False}}))
    assert [row["score"] for row in _rows({"task": [sample(0.5)]}, {})] == [0.5]

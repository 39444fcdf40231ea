from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from deploy_templates.registry import load_runtimes
from deploy_templates.render import render
from deploy_templates.request import LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.launch.running import Running

pytestmark = pytest.mark.e2e
SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

length, port = int(sys.argv[1]), int(sys.argv[2])

class Handler(BaseHTTPRequestHandler):
    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({"data": [{"id": "tiny"}], "release": "2.0", "length": length})

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer({"usage": {"prompt_tokens": 1, "completion_tokens": 1}})

print("weights are in memory", flush=True)
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
CAPABILITIES = {
    "name": "parrot",
    "title": "Parrot",
    "versions": [{"version": "2.0", "source": "this test"}],
    "families": [{"family": "llama"}],
    "devices": [{"device_class": "cpu-x86", "weights": ["bfloat16"], "kv_cache": ["bfloat16"]}],
    "default_memory_utilisation": 0.9,
    "kv_block_tokens": 16,
    "tradeoffs": dict.fromkeys(
        (
            "primary_execution_backend",
            "continuous_batching",
            "kv_cache_management",
            "prefix_caching",
            "chunked_prefill",
            "tensor_parallelism",
            "deployment_complexity",
            "best_production_fit",
        ),
        "none",
    ),
    "sources": ["this test"],
}
LAUNCH = {
    "forms": [
        {
            "name": "process",
            "mode": "process",
            "title": "a script",
            "command": ["{{ program('python') }}", "parrot.py"],
            "program": "python",
            "scripts": ["parrot.py"],
        }
    ],
    "pins": [{"version": "2.0"}],
    "serve": [{"words": ["{{ max_model_len }}", "{{ port }}"]}],
    "health": [{"path": "/health"}],
    "readiness": [{"limit_s": 30}],
    "report": {
        "version": [{"path": "/about", "key": "release"}],
        "settings": {"max_model_len": [{"path": "/about", "key": "length"}]},
    },
    "phases": [{"name": "weights", "pattern": "weights are in memory"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder that adds one runtime."""
    home = tmp_path / "mine" / "runtimes" / "parrot"
    home.mkdir(parents=True)
    variables = {
        each.name: {"uncontrolled": [{"then": "error", "why": "it only repeats"}], "unset": "-"}
        for each in fields(Variables)
    }
    variables["max_model_len"] = {"controls": [{"words": []} | {"values": {"64": []}}]}
    document = {"capabilities": CAPABILITIES, "launch": {**LAUNCH, "variables": variables}}
    (home / "runtime.yaml").write_text(yaml.safe_dump(document))
    (home / "parrot.py").write_text(SERVER)
    for name in ("install", "serve"):
        (home / f"{name}.sh.j2").write_text(f'{{% extends "shared/{name}.sh.j2" %}}\n')
    return tmp_path / "mine"


def test_a_runtime_added_as_one_folder_is_rendered_launched_and_read_back(
    folder: Path, port: int, started: Callable[..., Running]
) -> None:
    plan = render(
        LaunchRequest(
            name="mine",
            runtime="parrot",
            version="2.0",
            mode="process",
            model="tiny",
            port=port,
            device_class="cpu-x86",
            programs={"python": sys.executable},
            variables=Variables(max_model_len=64),
        ),
        load_runtime_folder("parrot", [folder]),
    )
    facts = started(plan).facts

    assert "parrot" in load_runtimes([folder])
    assert facts.runtime == "parrot"
    assert [(each.variable, each.seen, each.verdict) for each in facts.read_back] == [
        ("version", "2.0", "match"),
        ("max_model_len", "64", "match"),
    ]
    assert [each.name for each in facts.phases] == ["weights", "first token"]

"""Plans of real and simulated servers, launched in a test's folder and ended with it."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.load import load_catalog
from deploy_templates.plan import LaunchPlan
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.checkpoint.dummy import make_dummy
from flows.launch.clock import SystemClock
from flows.launch.processes import living
from flows.launch.running import Running
from flows.launch.start import launch
from flows.launch.wait import Progress
from flows.rehearsal import overlaid

ROOT = Path(__file__).parents[3]
MODEL = "tiny-llama-19m"
VERSIONS = {"embedded": "b11549", "binary": "b11434"}
QUICK = {"steps": {"decode_base_ms": 2, "prefill_base_ms": 2, "prefill_per_token_ms": 0}}

# Health, models and one token, with places at which a test can put its own behaviour.
SERVER = """
import json, os, signal, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

{before}

class Handler(BaseHTTPRequestHandler):
    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, {{"data": [{{"id": "MODEL"}}]}})

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer({status}, {answer})

    def log_message(self, *words):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
""".replace("MODEL", MODEL)
TOKEN = '{"choices": [{"text": "x"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}'


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def command_lines() -> Callable[[], list[str]]:
    """Command lines of all processes that live now."""

    def read() -> list[str]:
        lines = []
        for each in living():
            with suppress(OSError):
                lines.append(Path(f"/proc/{each.pid}/cmdline").read_text().replace("\0", " "))
        return lines

    return read


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = load_catalog().model(MODEL)
    return make_dummy(model, tmp_path_factory.mktemp("dummies"), format="gguf-f16").path


@pytest.fixture
def llama_plan(
    request: pytest.FixtureRequest, port: int, gguf: Path
) -> Callable[..., LaunchPlan]:
    """A plan of llama.cpp's server, embedded or as a binary."""

    def make(
        form: str, *, location: Path = gguf, extra_args: tuple[str, ...] = (), **asked: Any
    ) -> LaunchPlan:
        programs = {"python": sys.executable}
        if form == "binary":
            programs["llama-server"] = str(request.getfixturevalue("llama_server"))
        wanted = {"max_model_len": 512, "max_sequences": 2, "seed": 7, **asked}
        return render(
            LaunchRequest(
                name="here",
                runtime="llama_server",
                version=VERSIONS[form],
                mode="venv" if form == "embedded" else "process",
                variant=form,
                model=MODEL,
                port=port,
                device_class="cpu-x86",
                checkpoint=Checkpoint(kind="dummy", location=str(location)),
                programs=programs,
                variables=Variables(**wanted),
                extra_args=extra_args,
            ),
            load_runtime_folder("llama_server"),
        )

    return make


@pytest.fixture
def rehearsal_plan(port: int) -> Callable[..., LaunchPlan]:
    """A plan of the rehearsal engine with quick steps and the given settings."""

    def make(asked: dict[str, Any] | None = None, **settings: Any) -> LaunchPlan:
        plan = render(
            LaunchRequest(
                name="here",
                runtime="rehearsal",
                version="1",
                mode="process",
                model=MODEL,
                port=port,
                device_class="cpu-x86",
                programs={"python": sys.executable},
                variables=Variables(**{"max_model_len": 512, **(asked or {})}),
            ),
            load_runtime_folder("rehearsal"),
        )
        planned = json.loads(plan.files["settings.json"])
        text = json.dumps(overlaid(overlaid(QUICK, planned), settings))
        return replace(plan, files={**plan.files, "settings.json": text})

    return make


@pytest.fixture
def script_plan(rehearsal_plan: Callable[..., LaunchPlan]) -> Callable[..., LaunchPlan]:
    """A plan of a small server of the test's own, with code that runs before it serves."""

    def make(
        before: str = "", *, status: str = "200", answer: str = TOKEN, **changes: Any
    ) -> LaunchPlan:
        plan = rehearsal_plan()
        return replace(
            plan,
            argv=(sys.executable, "-u", "server.py", str(plan.port)),
            files={"server.py": SERVER.format(before=before, status=status, answer=answer)},
            report=replace(plan.report, version=None, settings=()),
            **changes,
        )

    return make


class HurriedClock(SystemClock):
    """The machine's clock, which a test can put forward."""

    def __init__(self) -> None:
        self.ahead_ns = 0

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self.ahead_ns


@pytest.fixture
def patience_until() -> Callable[[str], dict[str, Any]]:
    """Options of a launch whose limit is reached as soon as this has been seen."""

    def make(seen: str) -> dict[str, Any]:
        clock = HurriedClock()

        def tell(progress: Progress) -> None:
            if seen in progress.seen or seen in progress.line:
                clock.ahead_ns = 3_600_000_000_000

        return {"clock": clock, "progress": tell}

    return make


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Launch plans in the test's folder; whatever the test leaves running is stopped."""
    running: list[Running] = []

    def begin(plan: LaunchPlan, **options: Any) -> Running:
        settings = {"environment": os.environ, "secrets": {}, "limit_s": 60.0, **options}
        running.append(launch(plan, tmp_path / "launch", **settings))
        return running[-1]

    yield begin
    for each in running:
        each.stop()

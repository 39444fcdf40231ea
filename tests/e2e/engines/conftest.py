"""Real engines, each launched once from its rendered plan for all tests that read it."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog.load import load_catalog
from deploy_templates.plan import LaunchPlan
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.bench.flags import Flags as BenchFlags
from flows.bench.flags import cell_spec
from flows.bench.run import measure_cell
from flows.checkpoint import make_dummy
from flows.collect.source import launched_source
from flows.launch.running import Running
from flows.launch.start import launch
from reports.columns import Flags, Reals, RequestColumns
from reports.records import read_records

ROOT = Path(__file__).parents[3]
MODEL = "tiny-llama-19m"
PLACES = 2


@dataclass(frozen=True)
class Engine:
    """A running server and the plan that it was launched from."""

    plan: LaunchPlan
    running: Running


@dataclass(frozen=True)
class Cell:
    """What one measured cell left."""

    server: dict[str, Any]
    columns: RequestColumns

    @property
    def is_measured(self) -> Flags:
        """Which requests are measured ones."""
        return self.columns.phase == "measured"

    @property
    def ttft_s(self) -> Reals:
        """Time to first token of the measured requests, as the client saw it."""
        columns = self.columns
        return (columns.first_token_ns - columns.sent_ns)[self.is_measured] / 1e9

    @property
    def told(self) -> dict[str, float]:
        """What the server counted."""
        counted = self.server["servers"][0]["counted"]
        return {name: figure["value"] for name, figure in counted.items()}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def hugging_face(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hugging_face")
    return make_dummy(load_catalog().model(MODEL), folder, format="hf").path


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gguf")
    return make_dummy(load_catalog().model(MODEL), folder, format="gguf-q8_0").path


@pytest.fixture(scope="session")
def vllm_plan(vllm_python: str, hugging_face: Path) -> Callable[..., LaunchPlan]:
    """A plan of vLLM on this CPU with two places and no prefix cache."""

    def make(*, location: Path = hugging_face, **asked: Any) -> LaunchPlan:
        runtime = load_runtime_folder("vllm_cpu")
        wanted: dict[str, Any] = {
            "weights": "bfloat16",
            "max_model_len": 512,
            "max_sequences": PLACES,
            "kv_cache_gib": 0.25,
            "prefix_caching": False,
            "eager": True,
            "seed": 7,
            "threads": 1,
            **asked,
        }
        return render(
            LaunchRequest(
                name="here",
                runtime=runtime.name,
                version=runtime.newest,
                mode="venv",
                model=MODEL,
                port=free_port(),
                device_class="cpu-x86",
                checkpoint=Checkpoint(kind="dummy", location=str(location)),
                programs={"python": vllm_python},
                variables=Variables(**wanted),
            ),
            runtime,
        )

    return make


@pytest.fixture(scope="session")
def vllm(
    vllm_plan: Callable[..., LaunchPlan], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    plan = vllm_plan()
    folder = tmp_path_factory.mktemp("vllm")
    with launch(plan, folder, environment=os.environ, secrets={}) as running:
        yield Engine(plan, running)


@pytest.fixture(scope="session", params=["embedded", "binary"])
def llama(
    request: pytest.FixtureRequest, gguf: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """llama.cpp's server with two slots and no prompt cache, as a package and as a binary."""
    is_binary = request.param == "binary"
    programs = {"python": sys.executable}
    if is_binary:
        programs["llama-server"] = request.getfixturevalue("llama_server")
    plan = render(
        LaunchRequest(
            name="here",
            runtime="llama_server",
            version="b11434" if is_binary else "b11549",
            mode="process" if is_binary else "venv",
            variant=request.param,
            model=MODEL,
            port=free_port(),
            device_class="cpu-x86",
            checkpoint=Checkpoint(kind="dummy", location=str(gguf)),
            programs=programs,
            variables=Variables(
                max_model_len=512, max_sequences=PLACES, prefix_caching=False, seed=7, threads=1
            ),
        ),
        load_runtime_folder("llama_server"),
    )
    folder = tmp_path_factory.mktemp("llama")
    with launch(plan, folder, environment=os.environ, secrets={}) as running:
        yield Engine(plan, running)


def measured(engine: Engine, folder: Path) -> Cell:
    """A cell of six streams on an engine with two places: four wait at any time."""
    flags = BenchFlags(
        endpoints=[engine.running.url + "/v1/completions"],
        model=engine.running.facts.served_model,
        prompt_tokens="64",
        output_tokens="32",
        concurrency=6,
        num_requests=60,
        warmup_requests=10,
    )
    files = measure_cell(cell_spec(flags, {}), folder, launched=launched_source(engine.plan))
    return Cell(json.loads(files.server.read_text()), read_records(files.records).columns)


@pytest.fixture(scope="session")
def vllm_cell(vllm: Engine, tmp_path_factory: pytest.TempPathFactory) -> Cell:
    return measured(vllm, tmp_path_factory.mktemp("vllm_cell"))


@pytest.fixture(scope="session")
def llama_cell(llama: Engine, tmp_path_factory: pytest.TempPathFactory) -> Cell:
    return measured(llama, tmp_path_factory.mktemp("llama_cell"))

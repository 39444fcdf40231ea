"""One small checkpoint in sixteen bits, in eight, and damaged: each on a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from catalog.schema.model import Model
from flows.checkpoint import make_dummy
from tests.e2e.engines.conftest import free_port

ROOT = Path(__file__).parents[3]
LAUNCHER = ROOT / "deploy_templates/runtimes/llama_server/xllamacpp_server.py"
VOCABULARY = 2048
CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_hidden_layers": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
SMALL = Model(name="small", source="a test's own", config=CONFIG)


def damaged(path: Path, place: Path) -> Path:
    """The checkpoint with a tenth of its tensors' bytes overwritten by zeros."""
    content = bytearray(path.read_bytes())
    start, length = len(content) // 2, len(content) // 10
    content[start : start + length] = bytes(length)
    place.write_bytes(content)
    return place


@contextmanager
def serving(words: list[str], model: Path, log: Path) -> Iterator[str]:
    """A llama.cpp server with four slots; the address of its completions call."""
    port = free_port()
    flags = ["--model", str(model), "--port", str(port), "--ctx-size", "1024"]
    flags += ["--parallel", "4", "--threads", "1", "--threads-batch", "1", "--cache-ram", "0"]
    with (
        log.open("w") as output,
        subprocess.Popen([*words, *flags], stdout=output, stderr=output) as process,
    ):
        try:
            wait_until_ready(process, port, log)
            yield f"http://127.0.0.1:{port}/v1/completions"
        finally:
            process.kill()


def wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    import time
    import urllib.request

    until_s = time.monotonic() + 300
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError:
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until_s, log.read_text()[-2000:]
            time.sleep(0.1)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("checkpoints")
    whole = make_dummy(SMALL, folder, format="gguf-f16").path
    return {
        "sixteen": whole,
        "eight": make_dummy(SMALL, folder, format="gguf-q8_0").path,
        "damaged": damaged(whole, folder / "damaged.gguf"),
    }


@pytest.fixture(scope="module")
def servers(
    checkpoints: dict[str, Path],
    llama_server: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, str]]:
    """Addresses: sixteen bits on llama-server itself, the others out of its package."""
    folder = tmp_path_factory.mktemp("servers")
    package = [sys.executable, str(LAUNCHER)]
    with (
        serving([llama_server], checkpoints["sixteen"], folder / "16.log") as sixteen,
        serving(package, checkpoints["eight"], folder / "8.log") as eight,
        serving(package, checkpoints["damaged"], folder / "damaged.log") as bad,
    ):
        yield {"sixteen": sixteen, "eight": eight, "damaged": bad}


@pytest.fixture(scope="session")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve questions with three choices each."""
    path = tmp_path_factory.mktemp("questions") / "letters.jsonl"
    rows = [
        {
            "question": f"Which number is {number}?",
            "choices": [str(number + other) for other in (0, 1, 2)],
            "answer": "A",
        }
        for number in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path

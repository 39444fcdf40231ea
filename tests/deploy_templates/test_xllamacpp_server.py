"""The embedded server says what is wrong with its file, also where its log is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy_templates/runtimes/llama_server/xllamacpp_server.py"
MUTE = """
class CommonParams:
    class model:
        path = ""

class Server:
    def __init__(self, parameters):
        raise RuntimeError("failed to load model")
"""
pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "failed to open GGUF file"),
        (b"once upon a time", "invalid magic characters: b'once'"),
        (b"GGUF and more", "error: failed to load model\n"),
    ],
)
def test_a_start_that_fails_without_a_line_of_its_log_tells_of_the_file(
    tmp_path, content, said
):
    (tmp_path / "xllamacpp.py").write_text(MUTE)
    model = tmp_path / "model.gguf"
    if content is not None:
        model.write_bytes(content)

    done = subprocess.run(
        [sys.executable, SCRIPT, "--model", model],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert said in done.stderr

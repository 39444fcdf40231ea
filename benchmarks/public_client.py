"""A public client under the same load, where one is installed: `aiperf`, found on PATH or
named by the environment variable AIPERF.

Its own report is compared with what the server logged, and its processes' processor time,
start included, is divided by the chunks that the server wrote.
"""

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit


def installed() -> str | None:
    return os.environ.get("AIPERF") or shutil.which("aiperf")


def write_tokenizer(to: Path) -> None:
    """A tokenizer of words in a folder, as nothing may be fetched for a benchmark."""
    to.mkdir(exist_ok=True)
    words = {f"w{number}": number for number in range(8_000)} | {"[UNK]": 8_000}
    of = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    of.pre_tokenizer = WhitespaceSplit()
    of.save(str(to / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
    (to / "tokenizer_config.json").write_text(json.dumps(settings))
    (to / "config.json").write_text('{"model_type": "llama"}')


def run_aiperf(
    program: str, folder: Path, *, port: int, streams: int, requests: int, timeout_s: float
) -> dict[str, float]:
    """What aiperf reports (ms), and the processor seconds that it and its children took."""
    artifacts = folder / "aiperf"
    write_tokenizer(folder / "tokenizer")
    command = [
        program,
        "profile",
        "--model",
        "mock-model",
        "--tokenizer",
        "tokenizer",
    ]
    command += ["--url", f"http://127.0.0.1:{port}", "--endpoint-type", "completions"]
    command += ["--streaming", "--concurrency", str(streams), "--request-count", str(requests)]
    command += ["--isl", "1024", "--osl", "128", "--use-server-token-count"]
    command += ["--ui", "none", "--export-level", "summary"]
    command += ["--artifact-dir", str(artifacts), "--no-server-metrics", "--no-gpu-telemetry"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        timeout=timeout_s,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (report,) = artifacts.rglob("*aiperf.json")
    found = json.loads(report.read_text())
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "ttft_p95_ms": found["time_to_first_token"]["p95"],
        "gap_p99_ms": found["inter_chunk_latency"]["p99"]
        if "inter_chunk_latency" in found
        else found["inter_token_latency"]["p99"],
        "cpu_s": cpu_s,
    }

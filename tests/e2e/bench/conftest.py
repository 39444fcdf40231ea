"""A rehearsal engine on a real socket, and the command run against it as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from flows.rehearsal import Running, Settings, overlaid, start
from reports.columns import RequestColumns
from reports.records import read_records

# Fast enough for tests; limits so wide that a busy test machine does not void the cells.
ENGINE = {
    "steps": {
        "decode_base_ms": 4.0,
        "decode_per_sequence_ms": 0.02,
        "prefill_base_ms": 4.0,
        "prefill_per_token_ms": 0.002,
    }
}
COMPLETIONS = "/v1/completions"
WIDE = {"--ttft-slo": 4000, "--itl-slo": 400}
USUAL = {
    "--model": "rehearsal",
    "--prompt-tokens": 64,
    "--output-tokens": 16,
    "--num-requests": 120,
    "--warmup-requests": 20,
    **WIDE,
}


@dataclass(frozen=True)
class Result:
    """How one ``runoff bench`` ended."""

    code: int
    summary: dict[str, Any] = field(repr=False)
    said: str
    records: Path

    @property
    def columns(self) -> RequestColumns:
        return read_records(self.records).columns


class Bench:
    """``runoff bench`` as a user would run it, with usual flags under the given ones."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.summary = folder / "summary.json"
        self.records = folder / "records.parquet"
        self._capsys = capsys

    def __call__(self, url: str | list[str], **flags: object) -> Result:
        """Run it to its end, in this process; its load processes are real ones."""
        code = run(["bench", *self._line(url, flags)])
        captured = self._capsys.readouterr()
        return self._result(code, captured.out + captured.err)

    def start(
        self, url: str | list[str], *, cwd: Path | None = None, **flags: object
    ) -> subprocess.Popen[str]:
        """Start it in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "flows.cli", "bench", *self._line(url, flags)],
            cwd=cwd,
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Result:
        """Wait for a started one, and read what it wrote."""
        said, _ = process.communicate(timeout=120)
        return self._result(process.returncode, said)

    def _line(self, url: str | list[str], flags: dict[str, object]) -> list[str]:
        """The command line; flags are named with underscores, None leaves one out."""
        named = {"--" + name.replace("_", "-"): value for name, value in flags.items()}
        urls = [url] if isinstance(url, str) else url
        places = {"--json": self.summary, "--raw": self.records}
        endpoints = {"--endpoint": [u if "/v1/" in u else u + COMPLETIONS for u in urls]}
        self.summary.unlink(missing_ok=True)
        return words({**endpoints, **USUAL, **places, **named})

    def _result(self, code: int, said: str) -> Result:
        found = self.summary
        summary = json.loads(found.read_text()) if found.exists() else {}
        return Result(code, summary, said, self.records)


def words(flags: dict[str, object]) -> list[str]:
    """Flags as a command line; None leaves one out, True stands alone, lists repeat."""
    line: list[str] = []
    for flag, value in flags.items():
        values = value if isinstance(value, list) else [value]
        for one in values:
            if one is True:
                line.append(flag)
            elif one is not None:
                line += [flag, str(one)]
    return line


@pytest.fixture
def engine() -> Iterator[Callable[..., Running]]:
    """Start rehearsal engines with these settings over fast ones."""
    with ExitStack() as stack:

        def started(**settings: object) -> Running:
            return stack.enter_context(start(Settings.from_json(overlaid(ENGINE, settings))))

        yield started


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)

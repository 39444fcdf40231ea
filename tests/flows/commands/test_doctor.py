"""``runoff doctor`` as a user meets it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import run

ROOT = Path(__file__).parents[3]
CAMPAIGNS = ROOT / "catalog" / "campaigns"
SERVICE = """\
schema_version: 1
name: service
contract: {{model: tiny-llama-110m, prompt_tokens: 8, output_tokens: 8, concurrency: 1}}
candidates:
  - {{name: ours, endpoint: ["http://127.0.0.1:{port}/v1"], price: $1/h}}
matrix: {{concurrency: [1]}}
store: {store}
"""


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUNOFF_LOCKS", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def service(tmp_path: Path) -> str:
    """A campaign about an address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    path = tmp_path / "service.yaml"
    path.write_text(SERVICE.format(port=port, store=tmp_path / "runs"))
    return str(path)


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["doctor", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.e2e
def test_this_machine_is_ready_and_shown_in_one_table(capsys):
    code, out, err = said([], capsys)

    assert (code, err) == (0, "")
    topics = [line.split("  ")[0] for line in out.splitlines()]
    for topic in ("system", "processors", "memory", "file limit", "prefect", "host lock"):
        assert topic in topics


@pytest.mark.e2e
def test_a_look_leaves_nothing_behind(capsys, tmp_path):
    said([], capsys)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.e2e
def test_an_obstacle_of_a_campaign_is_told_with_what_to_do_and_exit_code_8(capsys, service):
    code, out, _ = said([service], capsys)

    assert code == 8
    assert "Before campaign service starts" in out
    (line,) = [line for line in out.splitlines() if line.startswith("candidate 'ours'")]
    assert "nothing listens there" in line
    assert "Start the server, or check host and port" in line


@pytest.mark.e2e
def test_a_program_reads_the_same_as_json_with_the_facts_of_the_machine(capsys, service):
    code, out, _ = said([service, "--json"], capsys)
    found = json.loads(out)

    assert code == 8
    assert found["schema_version"] == 1
    assert found["ready"] is False
    assert found["system"]["cpu"]["allowed"] == sorted(os.sched_getaffinity(0))
    assert found["system"]["bandwidth"] is None
    assert found["campaign"]["measured"] == ["ours"]
    (finding,) = found["campaign"]["findings"]
    assert finding["severity"] == "blocks"


@pytest.mark.e2e
def test_the_bandwidth_of_memory_is_measured_when_asked(capsys):
    _, out, _ = said(["--json", "--bandwidth"], capsys)
    found = json.loads(out)["system"]["bandwidth"]

    assert found["basis"] == "measurement"
    assert 0 < found["lowest"] <= found["median"] <= found["highest"]
    assert found["repetitions"] >= 5


@pytest.mark.e2e
def test_candidates_that_the_paper_rejects_are_not_looked_after(capsys):
    code, out, _ = said([str(CAMPAIGNS / "canonical.yaml")], capsys)

    assert code == 8
    assert "A is not measured: rejected on paper" in out
    assert not [line for line in out.splitlines() if line.startswith("candidate 'A'")]


def test_a_file_that_cannot_be_used_is_a_usage_error(capsys, tmp_path):
    (tmp_path / "bad.yaml").write_text("name: x\nnonsense: 1\n")

    code, out, err = said([str(tmp_path / "bad.yaml")], capsys)

    assert (code, out) == (2, "")
    assert "bad.yaml" in err


@pytest.mark.e2e
def test_a_secret_of_the_environment_is_in_no_output(capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_planted_secret_value")

    for arguments in ([], ["--json"]):
        _, out, err = said(arguments, capsys)
        assert "HF_TOKEN set" in out
        assert "planted" not in out + err


@pytest.mark.e2e
def test_help_does_not_import_prefect():
    code = (
        "import sys; from flows.cli import run; run(['doctor', '--help']); "
        "print('prefect' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "False"

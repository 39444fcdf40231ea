"""A campaign that holds answers against its reference's, on real servers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from reports.manifest import verify
from tests.e2e.campaign.conftest import CONTRACT, LIMIT_S, events, llama

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("prefect")]
QUICK = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_hidden_layers": 2,
    "vocab_size": 2048,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}


def record(run, name: str) -> dict[str, Any]:
    return json.loads(run.folder.quality(name).read_text())


def test_eight_bits_may_win_once_their_answers_are_shown_to_hold(folder):
    config = folder.path / "config.json"
    config.write_text(json.dumps(QUICK))
    quality = {"reference": "float16", "agreement": {"answer_tokens": 8}}
    file = folder.campaign(
        [llama("eight-bit", precision="gguf_q8_0"), llama("sixteen-bit")],
        contract={**CONTRACT, "model": str(config), "quality": quality},
        matrix={"replications": 1},
    )

    done = folder.compare(file)

    run = folder.run
    assert done.code in (0, 4, 5, 7), done.err
    ours, theirs = record(run, "eight-bit"), record(run, "sixteen-bit")
    assert (ours["verdict"], theirs["verdict"]) == ("holds", "holds"), ours["why"]
    assert ours["reference"]["name"] == theirs["reference"]["name"] == "sixteen-bit"
    assert theirs["is_reference"]
    assert ours["agreement"]["prompts"] == 200
    assert ours["concurrency"] == 2
    assert 0 < ours["agreement"]["kl"] < 0.05
    assert run.decision.of("eight-bit").standing != "needs quality proof"
    assert [e["candidate"] for e in events(run, "qualified")] == ["sixteen-bit", "eight-bit"]
    last_cell = max(i for i, e in enumerate(run.ledger) if e["event"] == "measured")
    assert all(e["event"] != "qualifying" for e in run.ledger[:last_cell])
    assert "## Quality of answers" in run.folder.file("report.md").read_text()
    assert verify(run.folder) == ()

    for path in (run.folder.path / "quality").glob("*.*"):
        path.unlink()
    again = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "flows.cli",
            "--debug",
            "quality",
            run.folder.path,
            "--json",
        ],
        cwd=folder.path,
        env=dict(folder.environment),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert again.returncode == 0, again.stderr
    assert {each["candidate"]: each["verdict"] for each in json.loads(again.stdout)} == {
        "eight-bit": "holds",
        "sixteen-bit": "holds",
    }
    assert record(run, "sixteen-bit")["reference"]["stored"]
    assert record(run, "eight-bit")["agreement"] == ours["agreement"]
    assert verify(run.folder) == ()

"""The page on the catalog: its examples are a folder that checks and screens as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flows.cli import run

PAGE = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"`mine/(\S+\.yaml)`.*?```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
CAMPAIGN = """
schema_version: 1
name: ours
contract:
  model: our-8b
  prompt_tokens: 1024
  output_tokens: 128
  concurrency: 16
  slo: {ttft: 1000 ms, itl: 50 ms}
commitments: [on-demand, owned]
candidates:
  - {name: rented, offer: acme/h100-node, device_count: 2, runtime: vllm}
  - {name: owned, offer: acme/own-h100, device_count: 2, runtime: vllm}
  - {name: board, device: acme-g1, runtime: vllm}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The page's examples as files."""
    for name, text in EXAMPLES:
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "mine"


def test_the_examples_on_the_page_are_an_offer_a_device_and_a_model() -> None:
    folders = [Path(name).parts[0] for name, _ in EXAMPLES]

    assert folders == ["offers", "devices", "models"]


def test_the_examples_contradict_nothing(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["catalog", "check", "--catalog", str(mine), "--today", "2026-11-29"])

    said = capsys.readouterr()
    assert code == 0
    assert str(mine) not in said.out + said.err


def test_a_campaign_screens_over_the_examples(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = tmp_path / "ours.yaml"
    campaign.write_text(CAMPAIGN, encoding="utf-8")

    assert run(["screen", str(campaign), "--json", "--catalog", str(mine)]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["candidates"]}
    assert [one["verdict"] for one in found.values()] == ["pass", "pass", "pass"]
    assert found["rented"]["price"] == {"value": 6.2, "unit": "USD/h", "basis": "assumption"}
    # 60,000 over 4 x 8,766 h x 60%, and 2.2 kW x 1.3 x 0.15
    assert found["owned"]["price"]["value"] == pytest.approx(2.8519 + 0.429, abs=1e-3)
    assert found["board"]["price"] is None


@pytest.mark.parametrize("option", ["--catalog", "--today", "--json"])
def test_options_of_the_catalog_verbs_are_on_the_page(option: str) -> None:
    assert option in PAGE

"""What is out of scope is refused by name, with file and line, where a user writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.errors import CatalogError
from catalog.limits import LIMITS, check_arguments, check_endpoint, refused
from catalog.load import load_campaign

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
CAMPAIGN = """\
schema_version: 1
name: x
contract:
  model: m
  prompt_tokens: 10
  output_tokens: 10
  concurrency: 1
{contract}
candidates:
  - name: a
    device: d
    runtime: vllm
{candidate}
{top}
"""


def refusal(tmp_path: Path, *, contract: str = "", candidate: str = "", top: str = "") -> str:
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN.format(contract=contract, candidate=candidate, top=top))
    with pytest.raises(CatalogError) as refusal:
        load_campaign(path)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("places", "line", "said"),
    [
        ({"candidate": "    hosts: 2"}, 13, "a candidate on several hosts is out of scope"),
        ({"candidate": "    nodes: 2"}, 13, "give that as endpoint:"),
        ({"contract": "  task: embeddings"}, 8, "embeddings are out of scope"),
        ({"contract": "  embeddings: true"}, 8, "embeddings are out of scope"),
        ({"contract": "  task: rerank"}, 8, "reranking is out of scope"),
        ({"contract": "  task: vision"}, 8, "vision, audio and video input is out of scope"),
        ({"contract": "  images: 2"}, 8, "its encoder is not modelled"),
        ({"contract": "  task: chat"}, 8, "there is one task, text generation"),
        ({"candidate": "    lora: [a, b]"}, 13, "mixes of LoRA adapters are out of scope"),
        ({"candidate": "    extra_args: [--enable-lora]"}, 13, "LoRA adapters"),
        ({"candidate": "    settings: {enable_lora: true}"}, 13, "LoRA adapters"),
        ({"candidate": "    extra_args: [--task, embed]"}, 13, "embeddings are out of scope"),
        ({"candidate": "    extra_args: [--task=embed]"}, 13, "embeddings are out of scope"),
        ({"candidate": "    host: kubernetes"}, 13, "there is no Kubernetes driver"),
        ({"candidate": "    host: slurm/gpu"}, 13, "there is no Slurm driver"),
        ({"top": "kubernetes: {namespace: x}"}, 14, "there is no Kubernetes driver"),
        ({"top": "autoscaling: {maximum: 4}"}, 14, "autoscaling is out of scope"),
        ({"contract": "  schedule: office hours"}, 8, "schedules over the day"),
        ({"top": "workloads: [a, b]"}, 14, "a contract has one workload class"),
    ],
)
def test_what_is_out_of_scope_is_refused_at_its_line(
    tmp_path: Path, places: dict[str, str], line: int, said: str
) -> None:
    message = refusal(tmp_path, **places)

    assert f"campaign.yaml:{line}: " in message
    assert said in message


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("grpc://host:8001", "gRPC is out of scope"),
        ("http://10.0.0.1:8000/v1", "use https"),
        ("host:8000", "is not an address"),
        ("ftp://host/v1", "is not an address"),
        ("https://", "is not an address"),
    ],
)
def test_an_endpoint_that_cannot_be_measured_is_refused(address: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_endpoint(address)


@pytest.mark.parametrize(
    "address",
    ["https://host/v1", "http://127.0.0.1:8000", "http://localhost/v1", "http://[::1]:8000"],
)
def test_https_anywhere_and_http_on_this_machine_are_endpoints(address: str) -> None:
    assert check_endpoint(address) == address


def test_a_value_that_sounds_like_a_limit_is_an_argument_like_any_other() -> None:
    check_arguments(("--served-model-name", "images", "--task", "generate"))


def test_an_unknown_key_in_scope_still_gets_the_nearest_known_one(tmp_path: Path) -> None:
    message = refusal(tmp_path, candidate="    tensor_paralel: 2")

    assert "Did you mean 'tensor_parallel'?" in message


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.topic)
def test_every_limit_is_documented_by_name_and_refused_by_each_of_its_words(limit) -> None:
    topic = limit.topic.split()[-1].lower()

    assert topic.rstrip("s") in DOCUMENTED.lower()
    assert all(refused(word) == (limit.seen, limit.do) for word in limit.words)

"""What runoff does not do, refused by name where a user would write it (docs/limits.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One thing out of scope: the words that ask for it, what it is, what to do instead."""

    topic: str
    words: frozenset[str]
    seen: str
    do: str


LIMITS = (
    Limit(
        topic="several hosts",
        words=frozenset({"hosts", "host_count", "nodes", "node_count", "num_nodes"}),
        seen="a candidate on several hosts is out of scope",
        do="Put the replicas behind one address and give that as endpoint:",
    ),
    Limit(
        topic="embeddings",
        words=frozenset({"embedding", "embeddings", "embed", "encode", "pooling"}),
        seen="embeddings are out of scope: nothing is generated, so there is no TTFT or ITL",
        do="State a text generation workload",
    ),
    Limit(
        topic="rerank",
        words=frozenset({"rerank", "reranker", "reranking", "score", "classify"}),
        seen="reranking is out of scope: nothing is generated, so there is no TTFT or ITL",
        do="State a text generation workload",
    ),
    Limit(
        topic="vision",
        words=frozenset({"vision", "image", "images", "image_tokens", "audio", "video"}),
        seen="vision, audio and video input is out of scope: its encoder is not modelled",
        do="State a text generation workload",
    ),
    Limit(
        topic="LoRA mixes",
        words=frozenset({"lora", "loras", "lora_modules", "enable_lora", "adapters"}),
        seen="mixes of LoRA adapters are out of scope",
        do="Merge one adapter into a checkpoint and name that as checkpoint:",
    ),
    Limit(
        topic="gRPC",
        words=frozenset({"grpc", "grpcs", "grpc_endpoint"}),
        seen="gRPC is out of scope: requests are streamed over HTTP",
        do="Give the server's HTTP address as endpoint:",
    ),
    Limit(
        topic="Kubernetes",
        words=frozenset({"kubernetes", "k8s", "helm", "namespace", "kubeconfig"}),
        seen="there is no Kubernetes driver",
        do="Start the server yourself and give its address as endpoint:",
    ),
    Limit(
        topic="Slurm",
        words=frozenset({"slurm", "sbatch", "partition"}),
        seen="there is no Slurm driver",
        do="Start the server in a job of yours and give its address as endpoint:",
    ),
    Limit(
        topic="autoscaling",
        words=frozenset({"autoscaling", "autoscale", "autoscaler", "hpa", "scale_to"}),
        seen="autoscaling is out of scope: a candidate has a fixed number of replicas",
        do="State demand: with peak, mean and headroom to size a fleet",
    ),
    Limit(
        topic="diurnal schedules",
        words=frozenset({"schedule", "diurnal", "hourly", "traffic_profile", "trace"}),
        seen="schedules over the day are out of scope: a load point is one steady load",
        do="State demand: with the peak and the mean rate, and measure both",
    ),
    Limit(
        topic="several workload classes",
        words=frozenset({"workloads", "workload_classes", "classes", "mix", "contracts"}),
        seen="a contract has one workload class",
        do="Write one campaign for each class",
    ),
)
_BY_WORD = {word: limit for limit in LIMITS for word in limit.words}
_TASKS = frozenset({"generate", "generation", "chat", "completion", "text-generation"})


def refused(word: str, value: object = None) -> tuple[str, str] | None:
    """What was seen and what to do instead, if ``word`` (a key) asks for a limit; else None.

    ``task:`` is not a key of ours either: its value names the limit.
    """
    name = _plain(str(value)) if _plain(word) == "task" else _plain(word)
    limit = _BY_WORD.get(name)
    if limit is not None:
        return limit.seen, limit.do
    if _plain(word) == "task":
        do = "Drop it" if _plain(str(value)) in _TASKS else "State a text generation workload"
        return "there is one task, text generation", do
    return None


def check_host(host: str) -> str:
    """``host`` unless it names a scheduler that runoff cannot drive.

    Raises
    ------
    ValueError
        With the limit and the way round it.
    """
    return _unrefused(host, host.partition(":")[0].partition("/")[0])


def check_endpoint(address: str) -> str:
    """``address`` if it is https, or http on this machine.

    Raises
    ------
    ValueError
        For other schemes, remote plain http, and what is not an address at all.
    """
    parts = urlsplit(address)
    _unrefused(address, parts.scheme)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{address!r} is not an address; write it as https://host/v1")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError(
            f"{address!r} would send prompts and keys in the clear; use https "
            "(http is for this machine only)"
        )
    return address


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse a server's extra arguments if one of them turns on what is out of scope.

    Raises
    ------
    ValueError
        With the argument, the limit and the way round it.
    """
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        flag, equals, value = argument.partition("=")
        if flag.startswith("-"):
            check_setting(flag.lstrip("-"), value if equals else following)


def check_setting(name: str, value: object) -> None:
    """Refuse a runtime's setting that turns on what is out of scope.

    Raises
    ------
    ValueError
        With the setting, the limit and the way round it.
    """
    if _plain(name) in ("task", "runner"):
        _unrefused(f"{name} {value}", str(value))
    elif value not in (False, "false"):
        _unrefused(name, name)


def _unrefused(seen: str, word: str) -> str:
    limit = _BY_WORD.get(_plain(word))
    if limit is not None:
        raise ValueError(f"{seen!r}: {limit.seen}; {limit.do[0].lower()}{limit.do[1:]}")
    return seen


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_")

"""What other people's benchmarks print, as figures: nvbandwidth, nccl-tests, llama-bench."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_GIGA: Final = 1e9
_RUNNING: Final = re.compile(r"^Running (?:benchmark )?(\w+)\.?\s*$")
_VERSION: Final = re.compile(r"nvbandwidth Version:\s*(\S+)")
_LINKS: Final = {
    "host_to_device_memcpy_ce": "host_to_device",
    "device_to_host_memcpy_ce": "device_to_host",
}
_RANK: Final = re.compile(r"^#?\s+Rank\s+(\d+)\b")
_NCCL: Final = re.compile(r"nccl-tests version\s+(\S+)|NCCL version\s+(\S+)|nccl-headers=(\S+)")
_WEIGHTS: Final = {"F32": "fp32", "F16": "fp16", "BF16": "bf16", "Q8_0": "int8"}
_LEAST_WORDS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRate:
    """Bytes per second between the host and one device, one way."""

    name: str
    device: int
    value: float
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """Seconds of all-reduces by message size in bytes, over so many ranks."""

    devices: int
    points: tuple[tuple[int, float], ...]
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRate:
    """A rate that llama.cpp reached with one model: FLOP/s, or bytes per second."""

    name: str
    precision: str | None
    blocks: tuple[float, ...]
    threads: int | None
    on_accelerator: bool
    tool: str


def nvbandwidth_rates(text: str) -> tuple[LinkRate, ...]:
    """Copies between host and devices of ``nvbandwidth``, from its JSON or from its text.

    One row of numbers (the host) over columns of devices; a device that was left out (N/A)
    has no rate.
    """
    start = text.find("{")
    if start >= 0:
        try:
            told = json.loads(text[start:])["nvbandwidth"]
        except (ValueError, KeyError):
            return ()
        return tuple(_from_json(told))
    return tuple(_from_text(text))


def _from_json(told: Mapping[str, Any]) -> Iterator[LinkRate]:
    version = told.get("git_version") or told.get("nvbandwidth Version") or ""
    tool = f"nvbandwidth {version}".strip()
    for case in told.get("testcases") or ():
        name, rows = _LINKS.get(case.get("name", "")), case.get("bandwidth_matrix")
        if name is not None and rows and case.get("status", "Passed") == "Passed":
            yield from _row(name, rows[0], tool)


def _from_text(text: str) -> Iterator[LinkRate]:
    version = _VERSION.search(text)
    tool = f"nvbandwidth {version[1]}" if version else "nvbandwidth"
    name: str | None = None
    for line in text.splitlines():
        found = _RUNNING.match(line.strip())
        if found is not None:
            name = _LINKS.get(found[1])
            continue
        words = line.split()
        is_row = name is not None and words[:1] == ["0"] and "." in line
        if is_row and name is not None:
            yield from _row(name, words[1:], tool)
            name = None


def _row(name: str, words: list[Any], tool: str) -> Iterator[LinkRate]:
    for device, word in enumerate(words):
        try:
            value = float(word) * _GIGA
        except (TypeError, ValueError):
            continue
        if value > 0:
            yield LinkRate(name=name, device=device, value=value, tool=tool)


def nccl_collective(text: str) -> Collective | None:
    """``all_reduce_perf``'s out-of-place times, of nccl-tests and rccl-tests of any release.

    Columns are found by their heads, since releases differ in them; rows whose result was
    wrong are left out. None where no table is there or one rank ran.
    """
    ranks = {int(found[1]) for line in text.splitlines() if (found := _RANK.match(line))}
    heads: list[str] = []
    points = []
    for line in text.splitlines():
        words = line.lstrip("# ").split()
        if words[:2] == ["size", "count"]:
            heads = words
        elif heads and len(words) >= _LEAST_WORDS and not line.startswith("#"):
            at, wrong = heads.index("time"), _wrong(heads)
            try:
                size, micros = int(words[0]), float(words[at])
                is_right = wrong is None or words[wrong] in ("N/A", "0") or _small(words[wrong])
            except (ValueError, IndexError):
                continue
            if size > 0 and micros > 0 and is_right:
                points.append((size, micros * 1e-6))
    if len(ranks) < 2 or not points:
        return None
    version = _NCCL.search(text)
    told = next(filter(None, version.groups()), "") if version else ""
    tool = f"all_reduce_perf {told}".strip()
    return Collective(devices=len(ranks), points=tuple(points), tool=tool)


def _wrong(heads: list[str]) -> int | None:
    """The column of wrong values (newer releases) or of the largest error (older ones)."""
    return next((heads.index(name) for name in ("#wrong", "error") if name in heads), None)


def _small(word: str) -> bool:
    return "e" in word.lower() and float(word) < 1e-2


def llama_bench_rates(text: str) -> tuple[EngineRate, ...]:
    """``llama-bench -o json`` (or ``jsonl``): what a prompt and what decoding come to.

    A prompt token costs two FLOPs a parameter; a decoded one reads the model once. The input
    embedding is in both counts though it is only looked up: both read a little too high.
    """
    found = []
    for each in _tests(text):
        samples = [float(rate) for rate in each.get("samples_ts") or [each.get("avg_ts", 0)]]
        blocks = tuple(rate for rate in samples if rate > 0)
        prompt, answer = each.get("n_prompt", 0), each.get("n_gen", 0)
        kind = str(each.get("model_type", "")).split()
        weights = next((_WEIGHTS[word] for word in reversed(kind) if word in _WEIGHTS), None)
        build = each.get("build_number") or each.get("build_commit") or ""
        tool = f"llama-bench b{build} on {each.get('model_type', 'a model')}"
        common: dict[str, Any] = {
            "threads": each.get("n_threads"),
            "on_accelerator": bool(each.get("gpu_info")) and each.get("n_gpu_layers", 0) != 0,
            "tool": tool,
        }
        if not blocks or (prompt and answer):
            continue
        parameters, size = each.get("model_n_params"), each.get("model_size")
        if prompt and weights is not None and parameters:
            scale = 2.0 * parameters
            rates = tuple(rate * scale for rate in blocks)
            found.append(EngineRate(name="matmul", precision=weights, blocks=rates, **common))
        elif answer and size:
            rates = tuple(rate * size for rate in blocks)
            found.append(EngineRate(name="memory_read", precision=None, blocks=rates, **common))
    return tuple(found)


def _tests(text: str) -> list[dict[str, Any]]:
    lines = text.strip()
    try:
        told = json.loads(lines)
        every = told if isinstance(told, list) else [told]
        return [each for each in every if isinstance(each, dict)]
    except ValueError:
        pass
    found = []
    for line in lines.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            found.append(told)
    return found

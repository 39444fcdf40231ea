"""What ``--explain`` prints is arithmetic: each expression gives the figure that it claims."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from catalog.quantity import Dimension, convert
from catalog.screen import Screen
from catalog.verdict import GateResult

Vote = Callable[..., Screen]
A100 = {"device": "nvidia-a100-80gb-sxm4", "version": "0.33.0"}
CONTRACTS: list[dict[str, Any]] = [
    {},
    {"prompt_tokens": 16, "concurrency": 300},
    {"cached_prefix_tokens": 512},
    {"concurrency": None, "rate": "8/s"},
    {"concurrency": None, "offline": {"tokens_per_hour": "3 Mtok/h"}, "slo": {}},
]
CANDIDATES: list[dict[str, Any]] = [
    {},
    {"speculation": {"draft_tokens": 3}},
    {"device_count": 2, "tensor_parallel": 2, "speculation": {"draft_tokens": 3}},
    {"device_count": 2},
    {"offload": "8 GiB"},
]
UNITS = {
    unit: convert(1, base, from_unit=unit, dimension=dimension)
    for dimension, base, units in (
        (Dimension.BYTES, "B", ("GiB", "MiB", "KiB", "GB", "MB", "kB", "B")),
        (Dimension.BANDWIDTH, "B/s", ("TB/s", "GB/s")),
        (Dimension.COMPUTE, "FLOP/s", ("PFLOP/s", "TFLOP/s")),
        (Dimension.WORK, "FLOP", ("TFLOP", "GFLOP")),
        (Dimension.TIME, "s", ("s", "ms", "µs")),
    )
    for unit in units
} | {"/s": 1.0, "%": 0.01}
_TERM = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?([A-Za-zµ%/]*)")
_FIGURE = r"([\d.,]+ ?[A-Za-zµ%/]+)"
_BATCH = r" at B = ([\d,]+) streams? and ([\d.]+) tokens? per step"


def value(text: str) -> float:
    """The value of an expression of quantities, in base units."""
    plain = _TERM.sub(_number, text.replace("−", "-").replace("·", "*"))
    return _evaluated(ast.parse(plain, mode="eval").body)


def _number(term: re.Match[str]) -> str:
    return repr(float(term[1].replace(",", "")) * UNITS.get(term[2], 1.0))


def _evaluated(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=float(number)):
            return number
        case ast.Call(func=ast.Name(id="max"), args=args):
            return max(_evaluated(each) for each in args)
        case ast.BinOp(left=left, op=operator, right=right):
            one, other = _evaluated(left), _evaluated(right)
            signs = {ast.Add: one + other, ast.Sub: one - other, ast.Mult: one * other}
            return one / other if isinstance(operator, ast.Div) else signs[type(operator)]
    raise AssertionError(ast.dump(node))


def claims(gate: GateResult) -> Iterator[tuple[float, float]]:
    """What a gate's expressions give, and what it says that they give."""
    text = gate.explanation.partition("\n")[0]
    each_token = "for each of its tokens" in text
    for column in ("bound", "assumption"):
        if gate.gate == "bandwidth":
            found = re.search(rf"{column}: (max\(.*?\)){_BATCH} gives {_FIGURE}", text)
            assert found is not None, text
            shared = value(found[2]) if each_token else 1.0
            yield value(found[1]) / shared / value(found[3]), value(found[4])
        elif gate.gate == "compute":
            found = re.search(rf"{column}: (.*?) gives {_FIGURE}", text)
            assert found is not None, text
            yield value(found[1]), value(found[2])
    if gate.gate == "memory":
        for found in re.finditer(rf": ([\d.,]+ GiB \+ .*?) = {_FIGURE}", text):
            yield value(found[1].replace(" workspace", "")), value(found[2])
        found = re.search(rf"≤ ([\d.]+%) of {_FIGURE}(?: \+ {_FIGURE} offloaded)? = (.*)", text)
        assert found is not None, text
        usable = value(found[1]) * value(found[2]) + (value(found[3]) if found[3] else 0.0)
        yield usable, value(found[4])
    if gate.gate == "interconnect":
        for found in re.finditer(rf"(\d+) all-reduces (· .*?) = {_FIGURE}", text):
            yield value(found[1] + found[2]), value(found[3])


@pytest.mark.parametrize("stated", CONTRACTS, ids=str)
@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_every_expression_gives_the_figure_that_it_claims(
    vote: Vote, canonical: dict[str, Any], stated: dict[str, Any], candidate: dict[str, Any]
) -> None:
    contract = {key: each for key, each in (canonical | stated).items() if each is not None}
    verdict = vote(contract, A100 | candidate).candidates[0]
    modelled = ["memory", "bandwidth", "compute"]
    modelled += ["interconnect"] if candidate.get("tensor_parallel") else []

    for name in modelled:
        pairs = list(claims(verdict.gate(name)))
        assert pairs
        for given, claimed in pairs:
            assert given == pytest.approx(claimed, rel=2e-3), verdict.gate(name).explanation

"""Campaigns built in memory over the shipped catalog, or over a device made by hand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.load import load_catalog
from catalog.schema import Campaign, Device, Runtime
from catalog.schema.fields import Source
from catalog.screen import Screen, screen, screen_all_offers
from deploy_templates.registry import load_runtimes

LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"
MINE = {
    "name": "mine",
    "title": "Mine",
    "vendor": "Test",
    "device_class": "cuda",
    "compute_capability": "9.0",
    "marketed_memory": "80 GB",
    "memory": "80 GiB",
    "memory_bandwidth": "2000 GB/s",
    "compute": {"bf16": "300 TFLOP/s"},
    "rated_clock": "1 GHz",
    "maximum_clock": "1 GHz",
    "on_chip_cache": "40 MiB",
    "links": ["nvlink3"],
    "achieved": {"bandwidth": "1500 GB/s", "compute": {"bf16": "200 TFLOP/s"}},
}
FACTS = (
    "marketed_memory",
    "memory",
    "memory_bandwidth",
    "rated_clock",
    "maximum_clock",
    "on_chip_cache",
)


@pytest.fixture(scope="session")
def today() -> dt.date:
    return dt.date(2026, 9, 1)


@pytest.fixture(scope="session")
def canonical() -> dict[str, Any]:
    """The lesson's contract: 16 streams, 1,024 tokens in, 128 out, 1 s and 25 ms."""
    return {
        "model": LLAMA,
        "prompt_tokens": 1024,
        "output_tokens": 128,
        "concurrency": 16,
        "slo": {"ttft": "1000 ms", "itl": "25 ms"},
    }


@pytest.fixture(scope="session")
def shipped() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def runtimes() -> Mapping[str, Runtime]:
    return load_runtimes()


@pytest.fixture(scope="session")
def campaign() -> Callable[..., Campaign]:
    """A campaign from a contract, candidates as mappings, and further keys."""

    def build(
        contract: Mapping[str, Any], *candidates: Mapping[str, Any], **more: Any
    ) -> Campaign:
        named = [_candidate(number, each) for number, each in enumerate(candidates)]
        stated = {"schema_version": 1, "name": "test", "contract": contract, **more}
        return Campaign.model_validate(stated | {"candidates": named})

    return build


def _candidate(number: int, stated: Mapping[str, Any]) -> dict[str, Any]:
    if "endpoint" in stated:
        return {"name": f"c{number}"} | dict(stated)
    return {"name": f"c{number}", "runtime": "vllm", "version": "0.6.3"} | dict(stated)


@pytest.fixture(scope="session")
def vote(
    shipped: Catalog,
    runtimes: Mapping[str, Runtime],
    campaign: Callable[..., Campaign],
    today: dt.date,
) -> Callable[..., Screen]:
    """The screen of candidates over the shipped catalog, or over another one."""

    def run(
        contract: Mapping[str, Any],
        *candidates: Mapping[str, Any],
        catalog: Catalog = shipped,
        day: dt.date = today,
        **more: Any,
    ) -> Screen:
        return screen(campaign(contract, *candidates, **more), catalog, runtimes, day)

    return run


@pytest.fixture(scope="session")
def vote_all(
    shipped: Catalog,
    runtimes: Mapping[str, Runtime],
    campaign: Callable[..., Campaign],
    today: dt.date,
) -> Callable[..., Screen]:
    """The screen of every offer of the shipped catalog, or of another one."""

    def run(contract: Mapping[str, Any], catalog: Catalog = shipped, **more: Any) -> Screen:
        return screen_all_offers(campaign(contract, **more), catalog, runtimes, today)

    return run


@pytest.fixture(scope="session")
def handmade(shipped: Catalog) -> Callable[..., Catalog]:
    """The shipped catalog with one device ``mine``; None removes a fact.

    ``unverified`` names facts that have no source read.
    """

    def build(unverified: tuple[str, ...] = (), **changes: Any) -> Catalog:
        values = {key: value for key, value in (MINE | changes).items() if value is not None}
        sources = dict.fromkeys(values, "sheet") | dict.fromkeys(unverified, "unverified")
        for key in FACTS:
            if key in values:
                values[key] = {"value": values[key], "source": sources[key]}
        values["compute"] = _facts(values["compute"], sources["compute"])
        values["achieved"] = _achieved(values["achieved"])
        context = {"sources": {"sheet": Source(title="a datasheet")}}
        mine = Device.model_validate(values, context=context)
        return Catalog(
            devices={**shipped.devices, "mine": mine},
            links=shipped.links,
            models=shipped.models,
            offers=shipped.offers,
        )

    return build


def _facts(values: Mapping[str, str], source: str) -> dict[str, dict[str, str]]:
    return {key: {"value": value, "source": source} for key, value in values.items()}


def _achieved(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        fact = {"source": "sheet", "basis": "assumption"}
        if key == "compute":
            found[key] = {name: fact | {"value": each} for name, each in value.items()}
        else:
            found[key] = fact | {"value": value}
    return found

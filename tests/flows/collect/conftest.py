"""Metrics pages of each runtime and release, and the names that read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from catalog.quantity import Basis
from deploy_templates.plan import Metrics
from deploy_templates.releases import known_release
from deploy_templates.runtime_folder import load_runtime_folder
from flows.collect.client import ClientSide
from flows.collect.page import Page
from flows.collect.parse import read
from flows.collect.reading import Reading
from flows.collect.source import Source

S = 1_000_000_000
PAGES = Path(__file__).parent / "pages"


def names_of(runtime: str, version: str, dialect: str = "prometheus") -> Metrics:
    """What this release calls its metrics."""
    folder = load_runtime_folder(runtime)
    versions = [known.version for known in folder.capabilities.versions]
    release = known_release(runtime, versions, version)
    return next(
        spec.metrics
        for spec in release.entries(folder.launch.metrics)
        if spec.dialect == dialect
    )


def page_of(body: str | bytes, at_s: float = 0.0) -> Page:
    """A page that was read at this time."""
    text = body.encode() if isinstance(body, str) else body
    return Page(asked_ns=round(at_s * S), answered_ns=round(at_s * S), body=text)


def reading_of(metrics: Metrics, body: str | bytes, at_s: float = 0.0) -> Reading:
    """A page's quantities, once it is cut down as a sampler does."""
    found = read(page_of(body, at_s).kept(metrics), metrics)
    assert found is not None
    return found


def recorded(name: str) -> bytes:
    """A page under ``pages``."""
    return (PAGES / f"{name}.txt").read_bytes()


def source_of(metrics: Metrics, basis: Basis = Basis.MEASUREMENT) -> Source:
    """A server that runoff started, with these names."""
    return Source(
        metrics=metrics,
        runtime="engine",
        release="1",
        is_known=True,
        is_simulation=basis is Basis.SIMULATION,
    )


Requests = Callable[..., ClientSide]


@pytest.fixture
def requests() -> Requests:
    """Requests of the client, one a second, measured unless said otherwise."""

    def made(
        n: int,
        *,
        queue_s: list[float] | None = None,
        prompt_s: list[float] | None = None,
        ttft_s: list[float] | None = None,
        warmup: int = 0,
    ) -> ClientSide:
        unknown = np.full(n, np.nan)
        return ClientSide(
            window_ns=(warmup * S, n * S),
            sent_ns=np.arange(n, dtype=np.int64) * S,
            is_measured=np.arange(n) >= warmup,
            to_first_token_s=unknown if ttft_s is None else np.array(ttft_s),
            queue_s=unknown if queue_s is None else np.array(queue_s),
            prompt_s=unknown if prompt_s is None else np.array(prompt_s),
            prompt_tokens=np.full(n, 64.0),
            output_tokens=np.full(n, 32.0),
        )

    return made

"""Cells as the command line would describe them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flows.bench.flags import Flags, cell_spec
from flows.bench.spec import CellSpec

URL = "http://127.0.0.1:8000/v1/completions"


@pytest.fixture
def spec_of() -> Callable[..., CellSpec]:
    def make(**flags: object) -> CellSpec:
        words = {"endpoints": [URL], "model": "m", **flags}
        if not {"concurrency", "request_rate", "trace"} & set(words):
            words["concurrency"] = 4
        return cell_spec(Flags(**words), {"KEY": "sk-planted"})

    return make

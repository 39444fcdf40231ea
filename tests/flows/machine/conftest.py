from __future__ import annotations

import pytest

from catalog.load import load_catalog
from tests.flows.fake_smi.stand_in import StandIn


@pytest.fixture
def smi(tmp_path, monkeypatch) -> StandIn:
    return StandIn(tmp_path, monkeypatch).is_of("h100-sxm-535")


@pytest.fixture(scope="session")
def devices():
    return load_catalog().devices

from __future__ import annotations

import pytest

from tests.flows.fake_smi.stand_in import StandIn


@pytest.fixture
def smi(tmp_path, monkeypatch) -> StandIn:
    return StandIn(tmp_path, monkeypatch).is_of("h100-sxm-535")

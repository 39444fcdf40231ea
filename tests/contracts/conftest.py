"""Where each cloud's driver is tried: fixture ``<name>_stand`` gives its site and orders."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.clouds.protocol import Order, Site

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Stand:
    site: Site
    order: Callable[[str], Order]


@pytest.fixture
def local_stand(tmp_path: Path) -> Stand:
    return Stand(
        site=Site(environment={"RUNOFF_LOCKS": str(tmp_path)}, state=tmp_path, now=lambda: NOW),
        order=lambda campaign: Order(
            host="local", campaign=campaign, run="r1", expires=NOW + dt.timedelta(hours=1)
        ),
    )

from __future__ import annotations

import pytest

from catalog.entries import Catalog
from catalog.load import load_catalog


@pytest.fixture(scope="session")
def shipped() -> Catalog:
    return load_catalog()

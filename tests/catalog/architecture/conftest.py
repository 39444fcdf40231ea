from functools import cache
from pathlib import Path

import pytest
import yaml

from catalog.architecture import kv_precision, precision, read_config

MODELS = Path(__file__).parents[3] / "catalog" / "models"


@cache
def entry(slug):
    return yaml.safe_load((MODELS / f"{slug}.yaml").read_text())


@cache
def architecture(slug):
    return read_config(entry(slug)["config"])


@pytest.fixture
def model():
    return architecture


@pytest.fixture
def config():
    return lambda slug: dict(entry(slug)["config"])


@pytest.fixture
def llama(model):
    return model("llama-3-8b")


@pytest.fixture
def bf16():
    return precision("bfloat16")


@pytest.fixture
def kv16():
    return kv_precision("bfloat16")

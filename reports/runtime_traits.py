"""What is known of each runtime before anything is measured, kept as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_FILE = Path(__file__).with_name("runtime_traits.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeTraits:
    """Titles of the traits by key, and each runtime's words for them."""

    titles: Mapping[str, str]
    runtimes: Mapping[str, Mapping[str, str]]


@cache
def runtime_traits() -> RuntimeTraits:
    """The traits as they are shipped."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    plain = yaml.load(_FILE.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - a safe loader
    return RuntimeTraits(titles=plain["traits"], runtimes=plain["runtimes"])

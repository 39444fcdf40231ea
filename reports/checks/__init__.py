"""The evidence checks: each a rule of its own, found by looking into ``rules``.

A rule is a module with a function ``check(evidence)`` that yields ``Check``s. They come in the
order of the modules' names.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module

from reports.checks import rules
from reports.checks.evidence import Evidence
from reports.run.checks_file import Check, Checks

Rule = Callable[[Evidence], Iterator[Check]]


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by its module's name."""
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    return {name: import_module(f"{rules.__name__}.{name}").check for name in names}


def checks_of(evidence: Evidence) -> Checks:
    """Return what every rule says of a run."""
    return Checks(
        checks=tuple(check for rule in all_rules().values() for check in rule(evidence))
    )


__all__ = ["Evidence", "all_rules", "checks_of"]

"""Values that the server may see and nobody else: handed on, never written down."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from deploy_templates.plan import LaunchPlan
from flows.errors import UsageError

MASK: Final = "***"
_CREDENTIALS: Final = re.compile(r"(://)[^/@\s]+@")
_SHORTEST: Final = 6  # a shorter value is part of ordinary words and cannot be told from them


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secret values by their name in the environment; its representation shows names only.

    Raises
    ------
    UsageError
        For a value too short to be told from ordinary text.
    """

    values: Mapping[str, str]

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            if len(value) < _SHORTEST:
                raise UsageError(
                    name,
                    f"its value has fewer than {_SHORTEST} characters: masking it would black "
                    "out ordinary words",
                    "Unset it, or export the real one",
                )

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self.values))})"

    def chosen(self, names: tuple[str, ...]) -> dict[str, str]:
        """Those of these names, by name; one that is not there is left out."""
        return {name: self.values[name] for name in names if name in self.values}

    def spellings(self) -> tuple[str, ...]:
        """Every spelling of a value that text may hold: plain, in JSON, in an address."""
        found = {
            spelling
            for value in self.values.values()
            for spelling in (value, json.dumps(value)[1:-1], quote(value, safe=""))
        }
        return tuple(sorted(found, key=len, reverse=True))

    def mask(self, text: str) -> str:
        """The text with a mask in place of each value."""
        for spelling in self.spellings():
            text = text.replace(spelling, MASK)
        return text

    def shown(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment as it may be written down: also a proxy's password is masked."""
        return {
            name: _CREDENTIALS.sub(rf"\1{MASK}@", self.mask(value))
            for name, value in sorted(environment.items())
        }

    def refuse_in(self, plan: LaunchPlan) -> None:
        """Refuse a plan that holds a value: every user of the machine could read it.

        Raises
        ------
        UsageError
            With the secret's name.
        """
        text = plan.text()
        for name, value in self.values.items():
            if value in text or json.dumps(value, ensure_ascii=False)[1:-1] in text:
                raise UsageError(
                    f"the launch plan of {plan.name!r}",
                    f"it holds the value of {name}, which would stand in process lists and "
                    "files",
                    f"Take it out of the candidate: {name} is handed on from the environment",
                )


def secrets_of(plan: LaunchPlan, environment: Mapping[str, str]) -> Secrets:
    """What a plan hands on of the environment's secrets; an empty value is none."""
    found = {name: environment[name] for name in plan.secret_env if environment.get(name)}
    return Secrets(found)

"""Files of older formats, brought up to today's step by step before they are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel

Step = Callable[[dict[str, Any]], dict[str, Any]]
# by model, from that version to the next; each format's history is at the top of its module
UPGRADES: Final[dict[type[BaseModel], dict[int, Step]]] = {}


def upgraded(content: bytes, model: type[BaseModel]) -> bytes:
    """The file as the model's newest format has it; as it is where no step leads on.

    Raises
    ------
    ValueError
        For a file that is no JSON and would need a step.
    """
    steps = UPGRADES.get(model)
    if not steps:
        return content
    plain = json.loads(content)
    while isinstance(plain, dict) and plain.get("schema_version") in steps:
        version = plain["schema_version"]
        plain = {**steps[version](plain), "schema_version": version + 1}
    return json.dumps(plain).encode()

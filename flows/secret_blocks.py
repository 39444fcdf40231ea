"""Tokens from Prefect's secret blocks, where the environment does not have them.

A controller that many use, or a worker, has no shell of the user's in which a token could be
exported. ``HF_TOKEN`` is then the block ``secret/hf-token`` of the server that the user names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from flows.underway import Underway


def block_of(variable: str) -> str:
    """The name of the block that stands in for a variable."""
    return variable.lower().replace("_", "-")


def wanted(work: Underway) -> tuple[str, ...]:
    """Variables that the campaign's servers and services take tokens from."""
    names: list[str] = []
    for facts in work.plan.candidates:
        if not facts.measured:
            continue
        names += (facts.launch or {}).get("secret_env", ())
        key = None if facts.kind == "launch" else work.candidate(facts.name).api_key_env
        names += [] if key is None else [key]
    quality = work.campaign.contract.quality
    key = None if quality is None else quality.reference_api_key_env
    names += [] if key is None else [key]
    return tuple(dict.fromkeys(names))


def take_tokens(work: Underway) -> None:
    """Add to the campaign's environment what it lacks of its tokens and blocks have."""
    around = work.around
    found = tokens(name for name in wanted(work) if not around.environment.get(name))
    around.environment = {**around.environment, **found}
    for name in found:
        work.progress.said(f"{name} is the Prefect block secret/{block_of(name)}")


def tokens(names: Iterable[str]) -> Mapping[str, str]:
    """The values of the blocks that stand in for these variables.

    A server that cannot be asked has none: whoever needs the token says so.
    """
    missing = tuple(names)
    return asyncio.run(_loaded(missing)) if missing else {}


async def _loaded(names: Iterable[str]) -> dict[str, str]:
    from prefect.blocks.system import Secret  # noqa: PLC0415 - its settings come first

    found: dict[str, str] = {}
    for name in names:
        try:
            block: Any = await Secret.aload(block_of(name))
            text = str(block.get()).strip()
        except Exception:  # noqa: BLE001, S112 - the blocks are others', and so are their errors
            continue
        if text:
            found[name] = text
    return found

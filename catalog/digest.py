"""A fingerprint of the facts that a verdict rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

FACTS = ("devices", "links", "models", "offers")


def catalog_digest(folders: Sequence[Path]) -> str:
    """SHA-256 over name and content of every fact file of ``folders``, in their order."""
    total = hashlib.sha256()
    for number, folder in enumerate(folders):
        for kind in FACTS:
            for path in sorted((folder / kind).glob("*.yaml")):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                total.update(f"{number} {kind}/{path.name} {content}\n".encode())
    return total.hexdigest()

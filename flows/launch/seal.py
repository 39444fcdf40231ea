"""The log as evidence: compressed, and with a mask where it holds a secret."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from flows.launch.secrets import MASK, Secrets

_READ_BYTES: Final = 1 << 20


def seal(log: Path, secrets: Secrets) -> Path:
    """Compress the log beside itself (``.zst``) and remove it; returns the new file's path."""
    import pyarrow as pa  # noqa: PLC0415 - not before the server has ended

    sealed = log.with_name(f"{log.name}.zst")
    aside = log.with_name(f".{sealed.name}.{os.getpid()}")
    try:
        with (
            log.open("rb") as plain,
            aside.open("wb") as file,
            pa.CompressedOutputStream(file, "zstd") as packed,
        ):
            for part in masked_parts(plain, secrets):
                packed.write(part)
        aside.replace(sealed)
    finally:
        aside.unlink(missing_ok=True)
    log.unlink()
    return sealed


def masked_parts(plain: BinaryIO, secrets: Secrets) -> Iterator[bytes]:
    """The file's content in pieces, masked also where a value lies across two readings."""
    values = [spelling.encode() for spelling in secrets.spellings()]
    held = max((len(value) for value in values), default=1) - 1
    rest = b""
    while data := plain.read(_READ_BYTES):
        rest += data
        for value in values:
            rest = rest.replace(value, MASK.encode())
        safe = max(0, len(rest) - held)
        yield rest[:safe]
        rest = rest[safe:]
    yield rest

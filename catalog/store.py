"""Where runs are kept: a folder, or what ``s3://BUCKET/PREFIX`` names."""

from __future__ import annotations

import re

S3 = "s3://"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of anything; a drive has one letter
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_store(stated: str) -> str:
    """The store as it was stated; ValueError for one that is neither folder nor bucket."""
    if not stated or not stated.isprintable():
        raise ValueError(
            "it names no folder; state one, as in store: runs, or s3://BUCKET/PREFIX"
        )
    if _ADDRESS.match(stated):
        bucket_and_prefix(stated)
    return stated


def bucket_and_prefix(address: str) -> tuple[str, str]:
    """The bucket, and its keys' beginning without slashes at the ends.

    Raises
    ------
    ValueError
        If it is no address of a bucket, or its prefix leads out of it.
    """
    bucket, _, prefix = address.removeprefix(S3).partition("/")
    parts = [part for part in prefix.split("/") if part]
    if not address.startswith(S3) or not _BUCKET.fullmatch(bucket) or {".", ".."} & set(parts):
        raise ValueError("it names no bucket; write s3://BUCKET/PREFIX")
    return bucket, "/".join(parts)

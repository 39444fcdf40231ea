"""Campaigns that a form offers, and how a verb that began without Prefect registers them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from catalog.load import load_campaign, shipped_catalog
from flows.deployments import Deployment
from flows.prefect_server import QUIET


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A campaign file by its whole path, and the name in it."""

    name: str
    file: str


def offered(files: Iterable[Path]) -> tuple[Offered, ...]:
    """The campaigns of these files; CatalogError for one that cannot be read."""
    return tuple(
        Offered(name=load_campaign(file).name, file=str(file.resolve())) for file in files
    )


def register_at(
    api_url: str,
    deployments: Sequence[Deployment],
    files: Sequence[Path],
    *,
    pool: str,
    pool_type: str,
    folder: Path,
    job_variables: Mapping[str, str],
    blocks: Iterable[str] = (),
) -> tuple[str, ...]:
    """Register on the server of that address; the names, ``flow/deployment``.

    Nothing is registered where the server lacks one of ``blocks``, by which people are told.

    Prefect reads its settings when it is imported, which is why nothing imports it earlier.
    """
    os.environ.update({**QUIET, "PREFECT_API_URL": api_url})
    from flows.automations import require_blocks  # noqa: PLC0415
    from flows.deploying import Pool, register  # noqa: PLC0415

    require_blocks(api_url, blocks)
    shipped = (path.stem for path in (shipped_catalog() / "campaigns").glob("*.yaml"))
    return register(
        api_url,
        deployments,
        Pool(name=pool, type=pool_type, folder=str(folder), job_variables=job_variables),
        (*sorted(shipped), *(str(file.resolve()) for file in files)),
    )

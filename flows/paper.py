"""Writing the paper verdict into a folder."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from catalog.digest import catalog_digest
from catalog.entries import Catalog
from catalog.load import shipped_catalog
from catalog.screen import Screen
from flows.errors import UsageError
from reports.lines import best
from reports.paper import Paper, paper_html, paper_markdown


def compose(
    question: str | None,
    screen: Screen,
    catalog: Catalog,
    limit: int,
    *,
    overlays: Sequence[Path],
    today: dt.date,
) -> Paper:
    """All that the pages are made from, with the digest of the catalog as it lies on disk."""
    return Paper(
        question=question,
        screen=screen,
        listed=best(screen, limit),
        catalog=catalog,
        digest=catalog_digest((shipped_catalog(), *overlays)),
        date=today,
        version=version("runoff"),
    )


def write_pages(folder: Path, paper: Paper) -> tuple[Path, ...]:
    """Write ``paper.html`` and ``paper.md``; what stood there is replaced.

    Raises
    ------
    UsageError
        If the folder cannot be made or written.
    """
    pages = {"paper.html": paper_html(paper), "paper.md": paper_markdown(paper)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(_replace(folder / name, text) for name, text in pages.items())
    except OSError as error:
        raise UsageError(
            f"--report {folder}",
            f"the folder cannot be written ({error.strerror})",
            "Name another folder",
        ) from None


def _replace(path: Path, text: str) -> Path:
    """The page at ``path``, which a reader never sees half written."""
    aside = path.with_name(path.name + ".new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
    return path

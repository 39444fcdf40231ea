"""The digest changes with a fact, and with nothing else."""

from __future__ import annotations

from pathlib import Path

from catalog.digest import catalog_digest
from catalog.load import shipped_catalog


def folder(path: Path, **devices: str) -> Path:
    (path / "devices").mkdir(parents=True)
    for name, text in devices.items():
        (path / "devices" / f"{name}.yaml").write_text(text)
    return path


def test_the_digest_of_the_shipped_catalog_is_a_sha256_that_stays() -> None:
    first = catalog_digest([shipped_catalog()])

    assert len(first) == 64
    assert catalog_digest([shipped_catalog()]) == first


def test_a_changed_fact_changes_the_digest(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a="x: 1\n")
    other = folder(tmp_path / "other", a="x: 2\n")

    assert catalog_digest([one]) != catalog_digest([other])


def test_where_a_folder_lies_does_not_change_the_digest(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a="x: 1\n")
    other = folder(tmp_path / "other", a="x: 1\n")
    (other / "notes.txt").write_text("not a fact")

    assert catalog_digest([one]) == catalog_digest([other])


def test_an_overlay_changes_the_digest_by_its_place(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a="x: 1\n")
    other = folder(tmp_path / "other", a="x: 2\n")

    assert catalog_digest([one, other]) != catalog_digest([other, one])

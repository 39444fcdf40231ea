from __future__ import annotations

from pathlib import Path

import pytest

from catalog.errors import CatalogError
from catalog.folders import entry_files, open_folder
from catalog.load import load_catalog


def test_a_folder_with_one_known_subfolder_is_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "offers").mkdir()
    (tmp_path / "notes of ours").mkdir()

    assert open_folder(tmp_path).origin == str(tmp_path)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (["device"], r"device: this folder is not read. Did you mean devices/\?"),
        (["Offers", "links"], r"Offers: this folder is not read. Did you mean offers/\?"),
        (["stuff"], r"the folder holds no catalog. Put entries in campaigns, devices"),
        ([], r"the folder holds no catalog"),
    ],
)
def test_a_folder_that_would_be_passed_over_is_refused(
    tmp_path: Path, made: list[str], message: str
) -> None:
    for name in made:
        (tmp_path / name).mkdir()

    with pytest.raises(CatalogError, match=message):
        load_catalog([tmp_path])


def test_a_folder_that_is_absent_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CatalogError, match="there is no such folder"):
        open_folder(tmp_path / "absent")
    with pytest.raises(CatalogError, match="this is a file, not a folder"):
        open_folder(tmp_path / "file")


def test_only_yaml_files_that_are_not_hidden_are_entries(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml", ".hidden.yaml", "README.md", "a.yaml~"):
        (tmp_path / name).write_text("")

    assert [stem for stem, _ in entry_files(tmp_path)] == ["a", "b"]


def test_a_yml_file_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "card.yml").write_text("")

    with pytest.raises(
        CatalogError, match=r"only .yaml files are read. Rename it to card.yaml"
    ):
        list(entry_files(tmp_path))


def test_an_absent_subfolder_holds_no_entries(tmp_path: Path) -> None:
    assert list(entry_files(tmp_path / "links")) == []

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import CatalogError
from catalog.yaml_nodes import MAXIMUM_BYTES, read_document

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)


def document(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "file.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-12", -12),
        ("16", 16),
        ("2.50", 2.5),
        ("-0.5", -0.5),
    ],
)
def test_the_only_plain_words_that_are_not_text(
    tmp_path: Path, text: str, value: object
) -> None:
    read = read_document(document(tmp_path, f"key: {text}\n")).value["key"]

    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("~", "Null", "NULL", "True", "TRUE", "yes", "Yes", "no", "on", "off", "y", "n"),
        *("16:30", "1:2:3", "190:20:30", "2026-08-22", "2026-08-22T10:00:00Z"),
        *("1e3", "1E3", "1.5e3", "010", "0o10", "0x10", "0b11", "1_000", "1,000", "+5"),
        *(".5", "5.", ".inf", "-.inf", ".nan", "inf", "nan", "0.6.3", "1.2.3"),
        *("2039 GB/s", "$3.43/h", "95%", "=", "<"),
    ],
)
def test_everything_else_stays_the_text_that_was_written(tmp_path: Path, text: str) -> None:
    assert read_document(document(tmp_path, f"key: {text}\n")).value["key"] == text


@pytest.mark.parametrize("text", ["16", "true", "null", "2.5", ""])
def test_quotes_make_text_of_anything(tmp_path: Path, text: str) -> None:
    assert read_document(document(tmp_path, f"key: '{text}'\n")).value["key"] == text


def test_keys_are_text_even_where_they_look_like_numbers(tmp_path: Path) -> None:
    read = read_document(document(tmp_path, "0: a\ntrue: b\n2026-08-22: c\n")).value

    assert read == {"0": "a", "true": "b", "2026-08-22": "c"}


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    read = read_document(document(tmp_path, b"\xef\xbb\xbfname: a\r\nsize: 3\r\n")).value

    assert read == {"name": "a", "size": 3}


def test_an_alias_repeats_what_its_anchor_holds(tmp_path: Path) -> None:
    read = read_document(document(tmp_path, "a: &a [1, 2]\nb: *a\n")).value

    assert read["b"] == [1, 2]


@pytest.mark.parametrize(
    ("content", "place", "seen"),
    [
        ("", ":1", "the file is empty"),
        ("# only a comment\n", ":1", "the file is empty"),
        ("- a\n- b\n", ":1", "the file holds a list at its top"),
        ("just words\n", ":1", "the file holds a single value at its top"),
        ("a: 1\nb:\n\tc: 2\n", ":3", "a tab is used for indentation"),
        ("a:\n  b: 1\n\tc: 2\n", ":3", "a tab is used for indentation"),
        ("a: 1\nb: 2\na: 3\n", ":3", "key 'a' stands here again (first in line 1)"),
        ("x: {a: 1,\n  a: 2}\n", ":2", "key 'a' stands here again (first in line 1)"),
        ("a: [1,\nb: 2\n", ":2", "YAML syntax:"),
        ("a: 'x\nb: 2\n", ":2", "YAML syntax:"),
        ("a: b: c\n", ":1", "YAML syntax:"),
        ("a: *b\n", ":1", "YAML syntax:"),
        ("a: @b\n", ":1", "YAML syntax:"),
        ("a: 1\n---\nb: 2\n", ":2", "a second document starts here"),
        ("a: !!python/object:os.system x\n", ":1", "tag 'tag:yaml.org,2002:python/object"),
        ("a: !!str 5\n", ":1", "tag 'tag:yaml.org,2002:str' is not used here"),
        ("a: 1\n? [x, y]\n: 2\n", ":2", "a list is used as a key"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n", ":3", "merge keys (<<) are not supported"),
        ("a: 1\nb: 12345678901234567890\n", ":2", "a number of 20 digits is too large"),
        ("a: " + "9" * 5000, ":1", "a number of 5000 digits is too large"),
        (BOMB, "", "the file expands to more than 50000 values"),
        ("a: &a [*a]\n", ":1", "values are nested deeper than 40 levels"),
        ("a: " + "[" * 500 + "]" * 500, ":1", "values are nested deeper than 40 levels"),
        ("a: " + "[" * 9000 + "]" * 9000, ":1", "values are nested deeper than 40 levels"),
        ("a: " + "{x: " * 9000, ":1", "values are nested deeper than 40 levels"),
        (b"a: 1\nb: caf\xe9\n", ":2", "byte 0xe9 is not UTF-8 text"),
        ("a: 1\n".encode("utf-16"), ":1", "the text is in UTF-16"),
        (b"\x7fELF\x00\x00\x01", "", "this is a binary file"),
        (b"a: 1\nb: \x01\n", ":2", "character '\\x01' is not allowed in YAML"),
        ("ü: é\nb: \x1b[31mred\n", ":2", "character '\\x1b' is not allowed in YAML"),
        ("a: 1\n" * 2_000_000, "", f"the file is larger than {MAXIMUM_BYTES // 1024} KiB"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(
    tmp_path: Path, content: str | bytes, place: str, seen: str
) -> None:
    path = document(tmp_path, content)

    with pytest.raises(CatalogError) as caught:
        read_document(path)

    assert caught.value.where.startswith(f"{path}{place}")
    assert caught.value.seen.startswith(seen)
    assert caught.value.do


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="there is no such file"):
        read_document(tmp_path / "absent.yaml")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="this is a folder, not a file"):
        read_document(tmp_path)


def test_a_path_through_a_file_is_said(tmp_path: Path) -> None:
    document(tmp_path, "a: 1\n")

    with pytest.raises(CatalogError, match="cannot be read"):
        read_document(tmp_path / "file.yaml/below.yaml")


def test_a_file_without_read_permission_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = document(tmp_path, "a: 1\n")
    path.chmod(0)
    if os.access(path, os.R_OK):  # root reads everything

        def refuse(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(CatalogError, match="the file may not be read"):
        read_document(path)


def test_a_section_keeps_the_lines_of_its_file(tmp_path: Path) -> None:
    read = read_document(document(tmp_path, "pins: {}\ncapabilities:\n  name: x\n"))

    section = read.section("capabilities")

    assert section.value == {"name": "x"}
    assert section.line(["name"]) == 3


def values_or_complaint(path: Path) -> dict[str, object] | str:
    try:
        return read_document(path).value
    except CatalogError as error:
        return str(error)


@given(st.binary(max_size=200))
def test_no_bytes_at_all_end_in_anything_but_values_or_a_complaint(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = document(tmp_path_factory.getbasetemp(), content)

    outcome = values_or_complaint(path)

    assert isinstance(outcome, dict) or outcome.startswith(str(path))


@given(st.text(alphabet="ab: -[]{}\n'\"#&*!?,|>\t1.", max_size=60))
def test_no_yaml_at_all_ends_in_anything_but_values_or_a_complaint(
    tmp_path_factory: pytest.TempPathFactory, content: str
) -> None:
    path = document(tmp_path_factory.getbasetemp(), content)

    outcome = values_or_complaint(path)

    assert isinstance(outcome, dict) or outcome.startswith(str(path))

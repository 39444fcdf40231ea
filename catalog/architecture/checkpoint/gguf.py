"""Tensor sizes of a GGUF file, from its header."""

from __future__ import annotations

import math
import re
from pathlib import Path

from catalog.architecture.checkpoint.ggml_types import BLOCKS
from catalog.errors import CatalogError

_LARGEST_HEADER = 32 * 2**20
_VERSIONS = (2, 3)
_MOST_DIMENSIONS = 8
_MOST_TENSORS = 100_000
_MOST_PAIRS = 10_000
_MOST_STRINGS = 1_500_000  # tokens and merges of the largest vocabularies: 0.8 million
_STRING, _ARRAY, _UINT32 = 8, 9, 4
_VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_SPLIT = re.compile(r"(.*-)\d{5}(-of-(\d{5})\.gguf)")
_AGAIN = "Download the file again"


def file_tensors(path: Path) -> dict[str, int]:
    """Bytes of each tensor in one file; a damaged or truncated file is a CatalogError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = _Header(path, file.read(_LARGEST_HEADER), size)
    return header.tensors()


def split_files(path: Path) -> list[Path]:
    """The file itself, or all files of the split set that it belongs to."""
    split = _SPLIT.fullmatch(path.name)
    if split is None:
        return [path]
    files = [
        path.with_name(f"{split[1]}{number:05d}{split[2]}")
        for number in range(1, int(split[3]) + 1)
    ]
    for file in files:
        if not file.is_file():
            raise CatalogError(str(path), f"its sibling {file.name} is missing", _AGAIN)
    return files


class _Header:
    """A cursor over the first bytes of a file, which never reads past them."""

    def __init__(self, path: Path, text: bytes, size: int) -> None:
        self._path = path
        self._text = text
        self._size = size
        self._at = 0
        self._strings_left = _MOST_STRINGS

    def tensors(self) -> dict[str, int]:
        if self._take(4) != b"GGUF":
            raise self._broken("no GGUF magic", "It is not a GGUF file")
        version = self._number(4)
        if version not in _VERSIONS:
            raise self._broken(f"GGUF version {version}", "Convert it to version 3")
        count = self._count("tensors", _MOST_TENSORS)
        pairs = self._count("metadata pairs", _MOST_PAIRS)
        alignment = 32
        for _ in range(pairs):
            alignment = self._pair() or alignment
        infos = [self._tensor() for _ in range(count)]
        start = -(-self._at // alignment) * alignment
        for name, offset, held in infos:
            if start + offset + held > self._size:
                raise self._broken(f"tensor {name!r} ends past the end of the file", _AGAIN)
        return {name: held for name, _, held in infos}

    def _pair(self) -> int:
        """Step over one metadata pair; the alignment where it states one, else 0."""
        key = self._string()
        kind = self._number(4)
        if key == b"general.alignment" and kind == _UINT32:
            return self._number(4)
        self._skip_value(kind)
        return 0

    def _skip_value(self, kind: int) -> None:
        if kind == _STRING:
            self._string()
        elif kind == _ARRAY:
            item = self._number(4)
            if item == _STRING:
                strings = self._count("strings", self._strings_left)
                self._strings_left -= strings
                for _ in range(strings):
                    self._string()
            else:
                self._take(self._number(8) * self._value_bytes(item))
        else:
            self._take(self._value_bytes(kind))

    def _value_bytes(self, kind: int) -> int:
        if kind not in _VALUE_BYTES:
            raise self._broken(f"a metadata value of type {kind}", _AGAIN)
        return _VALUE_BYTES[kind]

    def _tensor(self) -> tuple[str, int, int]:
        name = self._string().decode("utf-8", "replace")[:200]
        dimensions = self._number(4)
        if dimensions > _MOST_DIMENSIONS:
            raise self._broken(f"tensor {name!r} of {dimensions} dimensions", _AGAIN)
        values = math.prod(self._number(8) for _ in range(dimensions))
        kind, offset = self._number(4), self._number(8)
        if kind not in BLOCKS:
            raise self._broken(f"tensor {name!r} of unknown ggml type {kind}", "Update runoff")
        block, block_bytes = BLOCKS[kind]
        if values % block:
            raise self._broken(f"tensor {name!r} of {values} values is not in blocks", _AGAIN)
        return name, offset, values // block * block_bytes

    def _count(self, what: str, most: int) -> int:
        number = self._number(8)
        if number > most:
            raise self._broken(f"{number} {what}, more than {most}", _AGAIN)
        return number

    def _string(self) -> bytes:
        return self._take(self._number(8))

    def _number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._text):
            limit = "the file" if self._size <= len(self._text) else "its first 32 MiB"
            raise self._broken(f"the header runs past the end of {limit}", _AGAIN)
        taken = self._text[self._at : end]
        self._at = end
        return taken

    def _broken(self, seen: str, do: str) -> CatalogError:
        return CatalogError(str(self._path), seen, do)

"""Answers put aside in a file while the run goes on, so that memory holds the open ones."""

from array import array
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

from flows.load.errors import RawError


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer lies: its offset, its number of pieces and their bytes together."""

    offset: int
    pieces: int
    bytes: int


class Spool:
    """An unnamed file beside `path` that gives answers back by their place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        aside = path.with_name(f".{path.name}.spool")
        try:
            self._file = aside.open("w+b")
            aside.unlink()
        except OSError as error:
            raise RawError(f"{path}: cannot be written: {error.strerror}") from error
        self._end = 0

    def put(self, pieces: list[bytes], stamps_ns: "array[int]") -> Place:
        """Write stamps, lengths and bytes at the end."""
        body = b"".join(pieces)
        lengths = array("I", map(len, pieces))
        whole = b"%b%b%b" % (stamps_ns.tobytes(), lengths.tobytes(), body)
        try:
            self._file.write(whole)
        except OSError as error:
            raise RawError(f"{self._path}: no room beside it: {error.strerror}") from error
        place = Place(self._end, len(lengths), len(body))
        self._end += len(whole)
        return place

    def get(self, place: Place) -> tuple[list[bytes], "array[int]"]:
        """Pieces and stamps of the answer at `place`."""
        stamps_ns, lengths = array("q"), array("I")
        self._file.seek(place.offset)
        stamps_ns.frombytes(self._file.read(place.pieces * stamps_ns.itemsize))
        lengths.frombytes(self._file.read(place.pieces * lengths.itemsize))
        body = self._file.read(place.bytes)
        ends = accumulate(lengths, initial=0)
        return [body[start:end] for start, end in pairwise(ends)], stamps_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

"""The catalog's one exception: a file, a name or a value that cannot be used.

CatalogError
"""

from __future__ import annotations


class CatalogError(Exception):
    """A file or value of the catalog is unusable; says where, what was seen, what to do.

    ``value`` is the text that a file must hold for this to happen, so that whoever has read
    one can add the line; empty where ``where`` says it already.
    """

    def __init__(self, where: str, seen: str, do: str, *, value: str = "") -> None:
        super().__init__(f"{where}: {seen}. {do}" if do else f"{where}: {seen}.")
        self.where = where
        self.seen = seen
        self.do = do
        self.value = value

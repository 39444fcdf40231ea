"""Fields of a config.json, read strictly: what is missing or odd makes a model unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from catalog.architecture.model import UnknownArchitecture

_LARGEST = 10**9
_MOST_LAYERS = 1000


@dataclass(frozen=True, slots=True)
class Fields:
    """A config.json; each reader returns a checked value or raises UnknownArchitecture."""

    values: Mapping[str, object]

    def size(self, name: str, default: int | None = None, largest: int = _LARGEST) -> int:
        """A positive integer; ``default`` stands in only where the field is absent or null."""
        value = self.values.get(name)
        if value is None:
            value = default
        if value is None:
            raise UnknownArchitecture(f"config.json has no {name}")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= largest:
            raise UnknownArchitecture(
                f"config.json: {name} is {value!r}, not an integer from 1 to {largest}"
            )
        return value

    def size_or_none(self, name: str, default: int | None = None) -> int | None:
        """A positive integer, or None where the field is null, or absent without default."""
        if name in self.values and self.values[name] is None:
            return None
        if name not in self.values and default is None:
            return None
        return self.size(name, default)

    def count(self, name: str, largest: int = _MOST_LAYERS) -> int:
        """An integer from 0; 0 where the field is absent or null."""
        if self.values.get(name) in (None, 0):
            return 0
        return self.size(name, largest=largest)

    def layers(self) -> int:
        """The number of layers."""
        return self.size("num_hidden_layers", largest=_MOST_LAYERS)

    def flag(self, name: str, *, default: bool) -> bool:
        """A boolean; ``default`` where the field is absent or null."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise UnknownArchitecture(f"config.json: {name} is {value!r}, not true or false")
        return value

    def refuse(self, names: Iterable[str], because: str) -> None:
        """Raise where one of ``names`` is set to something other than null, false or 0."""
        for name in names:
            if self.values.get(name) not in (None, False, 0, [], {}):
                seen = str(self.values[name])[:60]
                raise UnknownArchitecture(f"config.json: {name} is {seen}: {because}")

    def texts(self, name: str) -> Sequence[str] | None:
        """A list of strings, or None where the field is absent or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UnknownArchitecture(f"config.json: {name} is not a list of strings")
        return value

    def numbers(self, name: str) -> Sequence[int]:
        """A list of integers; empty where the field is absent or null."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
            raise UnknownArchitecture(f"config.json: {name} is not a list of integers")
        return value


def layer_kinds(fields: Fields, fallback: Sequence[str]) -> Sequence[str]:
    """The kind of each layer: ``layer_types`` where stated, else the family's own rule."""
    stated = fields.texts("layer_types")
    if stated is None:
        return fallback
    if len(stated) != len(fallback):
        raise UnknownArchitecture(
            f"config.json: layer_types has {len(stated)} entries for {len(fallback)} layers"
        )
    return stated


def windows(
    fields: Fields, window: int | None, fallback: Sequence[str]
) -> tuple[int | None, ...]:
    """How far each layer looks: None for full attention, ``window`` for sliding layers."""
    reach: dict[str, int | None] = {"full_attention": None}
    if window is not None:
        reach["sliding_attention"] = window
    kinds = layer_kinds(fields, fallback)
    for kind in kinds:
        if kind not in reach:
            raise UnknownArchitecture(
                f"config.json: a layer of type {kind!r} with sliding_window {window!r}"
            )
    return tuple(reach[kind] for kind in kinds)

"""What the arithmetic needs to know of a model: its layers and its vocabulary tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from catalog.architecture.mixers import Mixer
from catalog.architecture.mlps import Experts, Mlp
from catalog.architecture.tally import Tally


class UnknownArchitecture(Exception):
    """A model that this catalog does not know how to count; ``reason`` says why.

    It is a finding, not a failure: a gate that meets it answers ``unknown``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: a token mixer, a feed-forward part, or both, with their normalisations."""

    mixer: Mixer | None
    mlp: Mlp | None
    norms: int

    def tally(self) -> Tally:
        """All parameters of the layer."""
        parts = Tally(norms=self.norms)
        for part in (self.mixer, self.mlp):
            if part is not None:
                parts += part.tally()
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A language model as its config.json states it; multi-token prediction is kept apart."""

    family: str
    width: int
    vocabulary: int
    tied: bool
    layers: tuple[Layer, ...]
    max_context: int
    query_heads: int
    kv_heads: int
    head_dim: int
    mtp: Tally = field(default_factory=Tally)
    groups: tuple[tuple[int, Layer], ...] = field(init=False, repr=False, compare=False)
    whole: Tally = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        groups = tuple((count, layer) for layer, count in Counter(self.layers).items())
        table = self.vocabulary * self.width
        whole = Tally(norms=self.width, embedding=table, head=0 if self.tied else table)
        for count, layer in groups:
            whole += layer.tally() * count
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "whole", whole)

    @property
    def mixers(self) -> tuple[tuple[int, Mixer], ...]:
        """Each distinct token mixer with the number of layers that have it."""
        return tuple((n, layer.mixer) for n, layer in self.groups if layer.mixer is not None)

    @property
    def mlps(self) -> tuple[tuple[int, Mlp], ...]:
        """Each distinct feed-forward part with the number of layers that have it."""
        return tuple((n, layer.mlp) for n, layer in self.groups if layer.mlp is not None)

    @property
    def routed(self) -> bool:
        """Whether any layer routes tokens to experts."""
        return any(isinstance(mlp, Experts) for _, mlp in self.mlps)

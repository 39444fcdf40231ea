"""Parameters of a model, counted by how a checkpoint stores them and a step touches them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Parameter counts by class; an expected count of experts may be fractional.

    ``linear``: matrices that every token multiplies. ``experts``: matrices of routed experts.
    ``routers``: the matrices that choose experts. ``norms``: scale vectors of normalisations.
    ``vectors``: biases, attention sinks, short convolutions, state-space scalars.
    ``embedding`` and ``head``: the two vocabulary tables (a tied table is ``embedding``).
    """

    linear: float = 0
    experts: float = 0
    routers: float = 0
    norms: float = 0
    vectors: float = 0
    embedding: float = 0
    head: float = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            linear=self.linear + other.linear,
            experts=self.experts + other.experts,
            routers=self.routers + other.routers,
            norms=self.norms + other.norms,
            vectors=self.vectors + other.vectors,
            embedding=self.embedding + other.embedding,
            head=self.head + other.head,
        )

    def __mul__(self, times: float) -> Tally:
        return Tally(
            linear=self.linear * times,
            experts=self.experts * times,
            routers=self.routers * times,
            norms=self.norms * times,
            vectors=self.vectors * times,
            embedding=self.embedding * times,
            head=self.head * times,
        )

    @property
    def body_matrices(self) -> float:
        """Parameters that cost one multiplication and one addition per token, head apart."""
        return self.linear + self.experts + self.routers

    @property
    def total(self) -> float:
        """All parameters counted here."""
        return self.body_matrices + self.norms + self.vectors + self.embedding + self.head

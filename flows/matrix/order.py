"""In which order launches and cells are measured: drift must hit all candidates alike."""

from __future__ import annotations

import random
from collections.abc import Sequence

from flows.matrix.identity import digest
from reports.run.plan_file import CandidateFacts, MatrixFacts, Visit


def visits(candidates: Sequence[CandidateFacts], matrix: MatrixFacts) -> tuple[Visit, ...]:
    """Every launch in the order in which it is made.

    Candidates of a host take turns, replication by replication, each round in an order of its
    own, so that a slow drift hits all alike; each launch has its own order of cells.
    """
    measured = [each for each in candidates if each.measured]
    hosts = tuple(dict.fromkeys(each.host for each in measured))
    found = []
    for replication in range(matrix.replications):
        for host in hosts:
            names = [each.name for each in measured if each.host == host]
            for name in _shuffled(names, matrix.seed, "turn", host, replication):
                points = [point.name for point in matrix.load_points]
                order = _shuffled(points, matrix.seed, "cells", name, replication)
                found.append(
                    Visit(
                        host=host,
                        replication=replication,
                        candidate=name,
                        load_points=tuple(order),
                    )
                )
    return tuple(found)


def with_proof(visit: Visit, proof: Sequence[str], seed: int) -> tuple[str, ...]:
    """A launch's load points with those that prove a search among them, each at any place.

    The plan's own stay in the plan's order, so that a launch that goes on is the same one.
    """
    order = list(visit.load_points)
    drawn = random.Random(  # noqa: S311 - an order, not a secret
        digest([seed, "proof", visit.candidate, visit.replication])
    )
    for name in proof:
        if name not in order:
            order.insert(drawn.randint(0, len(order)), name)
    return tuple(order)


def _shuffled(names: Sequence[str], *parts: object) -> list[str]:
    order = list(names)
    random.Random(digest(parts)).shuffle(order)  # noqa: S311 - an order, not a secret
    return order

"""The matrix of a campaign: load points, their order, seeds, identities and amounts. Pure."""

from flows.matrix.amounts import (
    check_amounts,
    decides,
    duration_s,
    least_requests,
    matrix_facts,
    timed_requests,
)
from flows.matrix.identity import cell_identity, cell_name, cell_seed
from flows.matrix.order import visits, with_proof
from flows.matrix.points import (
    above_a_miss,
    closed_point,
    contract_point,
    decision_point,
    load_points,
    poisson_point,
)
from flows.matrix.spec import cell_spec

__all__ = [
    "above_a_miss",
    "cell_identity",
    "cell_name",
    "cell_seed",
    "cell_spec",
    "check_amounts",
    "closed_point",
    "contract_point",
    "decides",
    "decision_point",
    "duration_s",
    "least_requests",
    "load_points",
    "matrix_facts",
    "poisson_point",
    "timed_requests",
    "visits",
    "with_proof",
]

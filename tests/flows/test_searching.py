"""What one searched rate says."""

from __future__ import annotations

import pytest

from flows.searching import verdict_of


def document(*clauses, verdict="valid"):
    return {
        "verdict": verdict,
        "clauses": {str(number): {"verdict": said} for number, said in enumerate(clauses)},
    }


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (document("holds", "holds"), "holds"),
        (document("holds", "no such clause"), "holds"),
        (document("holds", "misses"), "misses"),
        (document("inconclusive", "misses"), "misses"),
        (document("holds", "inconclusive"), "inconclusive"),
        (document("no such clause"), "inconclusive"),
        (document("misses", verdict="client-bound"), "no valid evidence"),
        (document("misses", verdict="cap-bound"), "no valid evidence"),
    ],
)
def test_a_clause_that_misses_decides_and_an_invalid_cell_says_nothing(found, said):
    assert verdict_of(found) == said

"""The page on the decision names every word that a decision can hold."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from reports.run.decision_file import Limiter, Outcome, Stamp, Standing

PAGE = (Path(__file__).parents[2] / "docs/concepts/decision.md").read_text(encoding="utf-8")
WORDS = (
    *get_args(Outcome),
    *get_args(Standing),
    *get_args(Limiter.model_fields["what"].annotation),
    *(stamp for stamp in get_args(Stamp) if stamp != "SIGNED"),  # that comes after
)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_a_decision_is_explained(word):
    assert f"`{word}`" in PAGE

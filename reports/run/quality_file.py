"""``quality/<candidate>.json``: whether its answers are as good as the reference's.

Beside it lie ``<candidate>.answers.parquet`` (what both answered on the fixed set) and, where
tasks were asked, ``<candidate>.samples.parquet`` (each question's scores). The verdict follows
from those two alone and is made again whenever the run is concluded.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from reports.run.number import Frozen, Real

FORMAT = 1

QualityVerdict = Literal["holds", "misses", "inconclusive"]
TaskKind = Literal["log-likelihood", "generation"]


class LossFound(Frozen):
    """A mean difference with its one-sided limits; None: too few for one.

    Shares from 0 to 1, or nats. ``detectable`` is the smallest true difference that so many
    show with a power of 80%.
    """

    questions: int
    mean: Real | None
    low: Real | None
    high: Real | None
    detectable: Real | None


class AgreementFound(Frozen):
    """Answers on the fixed set against the reference's, beside the reference against itself.

    ``first`` is the share of prompts whose first greedy token is the reference's; ``clear``
    that of equal next tokens at the positions where the reference's own leads by half a nat;
    ``kl`` the mean lower bound of the divergence in nats, ``listed`` the mean probability that
    the reference's top lists hold. ``identical`` counts whole greedy answers that are one of
    the reference's own two, ``parted_at`` is the median number of equal tokens of those that
    are not. What ends in ``_again`` is the reference's second answer against its first: the
    noise floor, which the excesses are above.
    """

    prompts: int
    positions: int
    clear_positions: int
    first: Real | None
    first_again: Real | None
    clear: Real | None
    clear_again: Real | None
    clear_excess: LossFound
    kl: Real | None
    kl_again: Real | None
    kl_excess: LossFound
    listed: Real | None
    identical: int
    identical_again: int
    parted_at: Real | None
    parted_at_again: Real | None
    least_clear: Real
    most_kl: Real
    verdict: QualityVerdict
    why: str


class SanityFound(Frozen):
    """Answers that are empty, or eight tokens and more of only one kind."""

    answers: int
    empty: int
    repeated: int
    reference_bad: int
    verdict: Literal["holds", "misses", "not applicable"]


class TaskFound(Frozen):
    """One task's accuracy of both, and the loss question by question; shares from 0 to 1.

    ``limit`` is the contract's loss and margin together, ``needed`` about how many questions
    prove no loss where as many differ. ``p_value`` is McNemar's, of any difference at all.
    """

    task: str
    kind: TaskKind
    metric: str
    questions: int
    reference: Real
    reference_stderr: Real | None
    candidate: Real
    candidate_stderr: Real | None
    loss: LossFound
    p_value: Real | None
    limit: Real
    needed: int | None
    verdict: QualityVerdict


class ReferenceFacts(Frozen):
    """Who was compared with; ``stored``: its answers were kept from an earlier run."""

    name: str
    precision: str | None = None
    runtime: str | None = None
    version: str | None = None
    weights: str | None = None
    stored: bool = False


class QualityFile(Frozen):
    """The quality of one candidate. ``why`` is the verdict in words.

    ``left_out`` says what could not be measured, and why. ``harness`` is what
    lm-evaluation-harness itself reported. ``files`` are SHA-256 by name.
    """

    schema_version: Literal[1] = 1
    candidate: str
    reference: ReferenceFacts
    is_reference: bool = False
    is_dummy: bool = False
    prompts: str = ""
    prompts_sha256: str = ""
    concurrency: int = 1
    answer_tokens: int = 0
    launch: str | None = None
    started_at: str = ""
    ended_at: str = ""
    files: dict[str, str] = Field(default_factory=dict)
    agreement: AgreementFound | None = None
    sanity: SanityFound | None = None
    tasks: tuple[TaskFound, ...] = ()
    left_out: tuple[str, ...] = ()
    harness: dict[str, Any] = Field(default_factory=dict)
    verdict: QualityVerdict = "inconclusive"
    why: str = ""

"""``plan.json``: what a campaign set out to do, frozen before its first step.

Everything that a report needs of the campaign, the catalog and the runtimes is in it, so that
a run directory can be read years later, on another machine, without either.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from catalog.quantity import Basis
from reports.run.number import Frozen, Number, Real

FORMAT = 1
METHOD_VERSION = 1
PRODUCTION = "-production"  # behind a load point's name: measured again at production clocks

Process = Literal["closed", "poisson", "constant", "gamma"]


class SloFacts(Frozen):
    """The limits of the contract; None: no such clause."""

    ttft_ms: Real | None = None
    itl_ms: Real | None = None
    itl_statistic: Literal["tpot", "p95_gap", "max_gap"] = "tpot"
    ttft_counts: Literal["any_token", "answer_token"] = "any_token"
    percentile: Real = 95.0
    goodput: Real | None = None


class DemandFacts(Frozen):
    """Traffic to size a fleet for, in requests per second; shares from 0 to 1."""

    peak_per_s: Real
    mean_per_s: Real
    headroom: Real = 0.0
    spare: int = 0


class OfflineFacts(Frozen):
    """The goal of a contract without latency limits; exactly one is stated."""

    tokens_per_hour: Real | None = None
    requests_per_hour: Real | None = None
    requests: int | None = None
    deadline_s: Real | None = None


class AgreementFacts(Frozen):
    """Limits on the fixed set: a share of equal next tokens, a divergence in nats."""

    greedy: Real = 0.95
    kl: Real = 0.05
    answer_tokens: int = 32


class QualityFacts(Frozen):
    """How far answers may fall behind the reference's; ``max_loss`` in points."""

    reference: str
    max_loss: Real = 0.0
    margin_points: Real | None = None
    tasks: tuple[str, ...] = ()
    samples: int | None = None
    agreement: AgreementFacts | None = None


class ContractFacts(Frozen):
    """What must hold; lengths in the campaign file's words (``normal:1024:64:2048``).

    ``mean_output_tokens`` and ``longest_output_tokens`` are those of the output lengths.
    """

    model: str
    weights: str
    kv_cache: str
    prompt_tokens: str
    output_tokens: str
    mean_output_tokens: Real | None = None
    longest_output_tokens: int | None = None
    output: Literal["forced", "natural"]
    cached_prefix_tokens: int = 0
    concurrency: int | None = None
    rate_per_s: Real | None = None
    offline: OfflineFacts | None = None
    slo: SloFacts = SloFacts()
    quality: QualityFacts | None = None
    demand: DemandFacts | None = None
    cost_ceiling_usd_per_1m: Real | None = None


class LoadPoint(Frozen):
    """One level of load. ``concurrency`` is the streams of a closed loop.

    ``max_in_flight`` is the cap of an open one (None: no cap).
    """

    name: str
    process: Process
    concurrency: int | None = None
    rate_per_s: Real | None = None
    max_in_flight: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests come whether or not earlier ones have been answered."""
        return self.process != "closed"


class MatrixFacts(Frozen):
    """How often and how much is measured.

    ``requests`` is the least number of timed requests of a cell, ``duration_s`` the least
    length of every cell, ``decision_duration_s`` that of the cells that a decision rests on;
    None: a cell ends with its requests. ``temperature`` 0 is greedy.
    """

    load_points: tuple[LoadPoint, ...]
    decision_point: str | None
    requests: int
    duration_s: Real | None = None
    decision_duration_s: Real | None = None
    warmup: Literal["adaptive", "fixed"]
    warmup_requests: int
    replications: int
    seed: int
    search_rates: bool = False
    temperature: Real = 0.0
    timeout_s: Real = 600.0


class PriceFacts(Frozen):
    """What an hour of the whole instance, or a million tokens, costs.

    ``unit`` is ``USD/h`` or ``USD/Mtok`` (or another currency). ``stated``: by the campaign.
    """

    value: Real
    unit: str
    basis: Basis
    source: str = ""
    date: str | None = None
    stale: bool = False
    stated: bool = False
    commitment: str | None = None
    sold_as: str | None = None


class CandidateFacts(Frozen):
    """One candidate: where it runs, what runs, what it costs, and what the paper said.

    ``kind``: ``launch`` is started by us, ``endpoint`` is measured as it stands. ``measured``
    is False for one that is not measured, with the reason in ``skipped``. ``bound_ttft_ms``
    and ``bound_itl_ms`` are the gates' bounds at the decision point (None: no bound).
    ``device_class`` is the catalog's (``cuda``, ``cpu-x86``), None for what is not launched.
    ``grade`` is ``uncontrolled`` for endpoints.
    """

    name: str
    kind: Literal["launch", "endpoint"]
    host: str
    host_class: Literal["local", "ssh", "cloud", "endpoint"]
    offer: str | None = None
    device: str | None = None
    device_class: str | None = None
    device_count: int = 1
    tensor_parallel: int = 1
    replicas_per_host: int = 1
    replicas: int = 1
    runtime: str | None = None
    version: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    driver: str | None = None
    parity: Literal["contract", "needs quality proof"] = "contract"
    checkpoint: str | None = None
    weight_bytes: int | None = None
    is_dummy: bool = False
    is_moe: bool = False
    is_speculative: bool = False
    price: PriceFacts | None = None
    verdict: Literal["pass", "unlikely", "unknown", "reject"] | None = None
    clause: str | None = None
    reason: str | None = None
    ranks: tuple[str, ...] = ()
    bound_ttft_ms: Real | None = None
    bound_itl_ms: Real | None = None
    measured: bool = True
    skipped: str | None = None
    grade: Literal["controlled", "uncontrolled"] = "controlled"
    endpoints: tuple[str, ...] = ()
    fingerprint: str | None = None
    launch: dict[str, Any] | None = None
    threats: tuple[str, ...] = ()


class Visit(Frozen):
    """One launch of one candidate: its cells in the order in which they are measured."""

    host: str
    replication: int
    candidate: str
    load_points: tuple[str, ...]


class EstimateItem(Frozen):
    """One line of the estimate: seconds of machine time and money, from low to high.

    Money is None where the price is not known.
    """

    what: str
    host: str
    low_s: Real
    high_s: Real
    low_usd: Real | None = None
    high_usd: Real | None = None


class RunPlan(Frozen):
    """The whole plan of a run."""

    schema_version: Literal[1] = 1
    method_version: int = METHOD_VERSION
    runoff_version: str
    campaign: str
    run: str
    question: str | None = None
    created_at: str
    campaign_sha256: str
    catalog_digest: str
    user_entries: tuple[str, ...] = ()
    exploratory: bool = False
    rehearsal: bool = False
    imported: str | None = Field(
        default=None, description="The tool whose result files these are; None: measured by us."
    )
    contract: ContractFacts
    matrix: MatrixFacts
    candidates: tuple[CandidateFacts, ...]
    order: tuple[Visit, ...]
    estimate: tuple[EstimateItem, ...] = ()
    budget_usd: Real | None = None
    budget_hours: Real | None = None
    incumbent: str | None = None
    switch_if_saves: Real = 0.1
    commitments: tuple[str, ...] = ("on-demand",)
    load_from: str = "candidate"
    needs: tuple[dict[str, Any], ...] = ()
    threats: tuple[str, ...] = ()
    money_not_spent: Number | None = Field(
        default=None, description="What measuring the gated candidates would have cost, USD."
    )

    def candidate(self, name: str) -> CandidateFacts:
        """The candidate of that name; raises KeyError."""
        for each in self.candidates:
            if each.name == name:
                return each
        raise KeyError(name)

    def load_point(self, name: str) -> LoadPoint:
        """The load point of that name, or its repetition at production clocks.

        Raises KeyError.
        """
        base = name.removesuffix(PRODUCTION)
        for each in self.matrix.load_points:
            if each.name == base:
                return each if name == base else each.model_copy(update={"name": name})
        raise KeyError(name)

"""The campaign file: one contract, its candidates, the load matrix, and what may be spent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from catalog.errors import CatalogError
from catalog.lengths import Lengths, parse_lengths
from catalog.limits import check_arguments, check_endpoint, check_host, check_setting
from catalog.schema.cloud import Aws
from catalog.schema.fields import (
    Bandwidth,
    Bytes,
    Compute,
    Cost,
    Duration,
    Flag,
    Money,
    Points,
    Price,
    Rate,
    Real,
    Share,
    Strict,
    Throughput,
    Whole,
)
from catalog.schema.offer import Commitment
from catalog.store import check_store


def _read_lengths(value: object, info: ValidationInfo) -> Lengths:
    """Lengths of a ``file:`` form come from the reader that the file's loader passes."""
    if isinstance(value, Lengths):
        return value
    read = (info.context or {}).get("read_lengths")
    if read is not None and isinstance(value, str) and value.startswith("file:"):
        return parse_lengths(value, read(value.removeprefix("file:").strip()))
    return parse_lengths(value)


LengthField = Annotated[
    Lengths,
    PlainValidator(_read_lengths),
    WithJsonSchema(
        {
            "type": ["integer", "string"],
            "examples": [1024, "normal:1024:64:2048", "uniform:256:2048", "file:lengths.txt"],
        }
    ),
]
ItlStatistic = Literal["tpot", "p95_gap", "max_gap"]


class Slo(Strict):
    """Latency limits and the share of requests that must keep both."""

    ttft: Duration | None = None
    itl: Duration | None = None
    itl_statistic: ItlStatistic = "tpot"
    ttft_counts: Literal["any_token", "answer_token"] = "any_token"
    percentile: Real = Field(default=95, gt=50, lt=100)
    goodput: Share | None = None


class Offline(Strict):
    """A contract without latency limits: work per hour, or work by a deadline."""

    tokens_per_hour: Throughput | None = None
    requests_per_hour: Rate | None = None
    requests: Whole | None = Field(default=None, ge=1)
    deadline: Duration | None = None

    @model_validator(mode="after")
    def _one_goal(self) -> Offline:
        goals = (self.tokens_per_hour, self.requests_per_hour, self.deadline)
        if sum(goal is not None for goal in goals) != 1:
            raise ValueError(
                "offline has no goal or several; "
                "state one of tokens_per_hour, requests_per_hour, deadline"
            )
        if (self.deadline is None) != (self.requests is None):
            raise ValueError("deadline and requests go together; state both, or neither")
        return self


class Agreement(Strict):
    """How far answers on the fixed set may differ from the reference's.

    ``greedy`` is the least share of equal next tokens where the reference is clear about its
    own; ``kl`` the largest mean divergence in nats. ``answer_tokens`` is how long answers are.
    """

    greedy: Share = Field(default="95%", validate_default=True)
    kl: Real = Field(default=0.05, gt=0)
    answer_tokens: Whole = Field(default=32, ge=8, le=1024)


class Quality(Strict):
    """How far answers may fall behind the reference's.

    ``reference`` is a precision, the name of a candidate, or the address of an endpoint
    (``reference_api_key_env``: the variable that holds its key).
    ``tasks`` are names that lm-evaluation-harness knows, or ``file:questions.jsonl``;
    ``samples`` is how many questions of each are asked (None: all). The word ``agreement``
    alone stands for limits on the fixed set, and no tasks.
    """

    reference: str = "bfloat16"
    reference_api_key_env: str | None = None
    max_loss: Real = Field(default=0, ge=0)
    margin: Points | None = None
    tasks: tuple[str, ...] = ()
    samples: Whole | None = Field(default=None, ge=1)
    agreement: Agreement | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_word(cls, value: object) -> object:
        return {"agreement": {}} if value == "agreement" else value

    @field_validator("reference")
    @classmethod
    def _reference_in_scope(cls, value: str) -> str:
        return check_endpoint(value) if "://" in value else value

    @field_validator("tasks")
    @classmethod
    def _tasks_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        repeated = next((task for task in value if value.count(task) > 1), None)
        if repeated is not None:
            raise ValueError(f"task {repeated!r} is named twice; name each once")
        return value


class Demand(Strict):
    """Traffic to size a fleet for."""

    peak: Rate
    mean: Rate
    headroom: Share | None = None
    spare: Whole = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _peak_above_mean(self) -> Demand:
        if self.mean.value > self.peak.value:
            raise ValueError("the mean rate is above the peak; swap them")
        return self


class PrecisionPair(Strict):
    """Number formats that the contract asks for."""

    weights: str = "bfloat16"
    kv_cache: str = "bfloat16"


class Contract(Strict):
    """What must hold: the model, the lengths, the load, the limits."""

    model: str
    precision: PrecisionPair = PrecisionPair()
    prompt_tokens: LengthField
    output_tokens: LengthField
    output: Literal["forced", "natural"] = "forced"
    cached_prefix_tokens: Whole = Field(default=0, ge=0)
    concurrency: Whole | None = Field(default=None, ge=1)
    rate: Rate | None = None
    offline: Offline | None = None
    slo: Slo = Slo()
    quality: Quality | None = None
    demand: Demand | None = None
    cost_ceiling: Cost | None = None

    @model_validator(mode="after")
    def _one_kind_of_load(self) -> Contract:
        if self.concurrency is None and self.rate is None and self.offline is None:
            raise ValueError("the contract states no load; add concurrency, rate or offline")
        if self.offline is not None and (self.slo.ttft or self.slo.itl):
            raise ValueError(
                "an offline contract has no latency limits; drop slo.ttft and slo.itl"
            )
        if (
            self.cached_prefix_tokens
            and self.cached_prefix_tokens >= self.prompt_tokens.maximum
        ):
            raise ValueError(
                "cached_prefix_tokens leaves nothing of the prompt; make it shorter"
            )
        return self


class CandidateAssumptions(Strict):
    """What this campaign assumes about a candidate, in place of the catalog's assumptions."""

    bandwidth: Bandwidth | None = None
    compute: Compute | None = None
    workspace: Bytes | None = None
    price: Price | None = None


class Speculation(Strict):
    """Speculative decoding: γ draft tokens per step."""

    draft_tokens: Whole = Field(ge=1, le=16)
    method: str = "draft"
    draft_model: str | None = None


class Candidate(Strict):
    """Offer or device × runtime × precision × parallelism; or an endpoint as it stands."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    offer: str | None = None
    device: str | None = None
    device_count: Whole = Field(default=1, ge=1)
    tensor_parallel: Whole = Field(default=1, ge=1)
    pipeline_parallel: Whole = Field(default=1, ge=1)
    data_parallel: Whole = Field(default=1, ge=1)
    expert_parallel: Whole = Field(default=1, ge=1)
    sequence_parallel: Whole = Field(default=1, ge=1)
    context_parallel: Whole = Field(default=1, ge=1)
    link: str | None = None
    replicas_per_host: Whole | None = Field(default=None, ge=1)
    runtime: str | None = None
    version: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    checkpoint: str = "hub"
    driver: str | None = None
    speculation: Speculation | None = None
    offload: Bytes | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    image: str | None = None
    extra_args: tuple[str, ...] = ()
    extra_env: dict[str, str] = Field(default_factory=dict)
    assumptions: CandidateAssumptions = CandidateAssumptions()
    host: str | None = None
    endpoint: tuple[str, ...] = ()
    price: Price | Cost | None = None
    api_key_env: str | None = None
    replicas: Whole | None = Field(default=None, ge=1)

    @field_validator("version", mode="before")
    @classmethod
    def _version_is_text(cls, value: object) -> object:
        if isinstance(value, float | int) and not isinstance(value, bool):
            raise ValueError(f"{value!r} reads as a number; quote the version")
        return value

    @field_validator("host")
    @classmethod
    def _host_in_scope(cls, value: str | None) -> str | None:
        return value if value is None else check_host(value)

    @field_validator("endpoint")
    @classmethod
    def _endpoint_in_scope(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(check_endpoint(address) for address in value)

    @field_validator("extra_args")
    @classmethod
    def _arguments_in_scope(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_arguments(value)
        return value

    @field_validator("settings")
    @classmethod
    def _settings_in_scope(cls, value: dict[str, Any]) -> dict[str, Any]:
        for key, setting in value.items():
            check_setting(key, setting)
        return value

    @model_validator(mode="after")
    def _somewhere_to_run(self) -> Candidate:
        if self.endpoint:
            if self.offer or self.device or self.host or self.runtime:
                raise ValueError(
                    "an endpoint is measured as it is; drop offer, device, host, runtime"
                )
            return self
        if self.offer is None and self.device is None and self.host is None:
            raise ValueError("nowhere to run; name an offer, a device, a host or an endpoint")
        if self.runtime is None:
            raise ValueError("nothing to run; name a runtime (or an endpoint)")
        ranks = self.tensor_parallel * self.pipeline_parallel * self.data_parallel
        if ranks > self.device_count:
            raise ValueError(
                f"{ranks} ranks need {ranks} devices but device_count is "
                f"{self.device_count}; raise it, or lower a degree"
            )
        return self


class Matrix(Strict):
    """Load points, repetition and warm-up (the lesson's controlled variables)."""

    concurrency: tuple[Whole, ...] = (1, 2, 4, 8, 16, 24, 32)
    rates: Literal["search"] | tuple[Rate, ...] = ()
    max_in_flight: Whole | None = Field(default=None, ge=1)
    requests: Whole = Field(default=200, ge=1)
    duration: Duration | None = None
    warmup: Literal["adaptive", "fixed"] = "adaptive"
    warmup_requests: Whole = Field(default=100, ge=0)
    replications: Whole = Field(default=5, ge=1)
    seed: Whole = Field(default=42, ge=0)

    @field_validator("concurrency")
    @classmethod
    def _positive_streams(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(streams < 1 for streams in value):
            raise ValueError("a concurrency below 1 sends nothing; start at 1")
        return tuple(dict.fromkeys(value))


class Screening(Strict):
    """What to spend on when the paper does not say yes."""

    unlikely: Literal["skip", "measure"] = "skip"
    unknown: Literal["skip", "measure"] = "skip"


_DOLLARS_SCHEMA = WithJsonSchema({"type": ["number", "string"], "examples": [50, "$50"]})


class Mirrors(Strict):
    """A site's own copies: package index, registry in front of images, hub or its folder."""

    package_index: str | None = None
    registry: str | None = None
    hub: str | None = None


class Budget(Strict):
    """What a campaign may spend at most."""

    usd: Annotated[Money, _DOLLARS_SCHEMA] | None = None
    hours: Real | None = Field(default=None, gt=0)

    @field_validator("usd", mode="before")
    @classmethod
    def _plain_dollars(cls, value: object) -> object:
        """The key names the unit, so a bare number is allowed here: ``usd: 50``."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"${value}"
        return value


class Campaign(Strict):
    """One question with its candidates: ``screen``, ``plan`` and ``compare`` take this file."""

    schema_version: Literal[1]
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    question: str | None = None
    contract: Contract
    candidates: tuple[Candidate, ...] = ()
    matrix: Matrix = Matrix()
    screening: Screening = Screening()
    budget: Budget = Budget()
    load_from: str = "candidate"
    incumbent: str | None = None
    switch_if_saves: Share | None = None
    commitments: tuple[Commitment, ...] = ("on-demand",)
    i_accept_oom: Flag = False
    mirrors: Mirrors = Mirrors()
    aws: Aws = Aws()
    offline: Flag = False
    calibrate: Flag = False
    store: str = "runs"
    exploratory: Flag = False

    @field_validator("store")
    @classmethod
    def _store_can_be_written(cls, value: str) -> str:
        return check_store(value)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Campaign:
        names = [candidate.name for candidate in self.candidates]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated:
            raise ValueError(f"two candidates are called {repeated!r}; names must differ")
        if self.incumbent is not None and self.incumbent not in names:
            raise ValueError(
                f"incumbent {self.incumbent!r} is not a candidate; "
                f"name one of {', '.join(names)}"
            )
        return self

    @model_validator(mode="after")
    def _a_search_can_find(self) -> Campaign:
        """Without a limit every cell says neither yes nor no, and hours would find nothing."""
        slo = self.contract.slo
        if self.matrix.rates == "search" and not (slo.ttft or slo.itl or slo.goodput):
            raise ValueError(
                "rates: search has no limit to search for; state slo.ttft or slo.itl in the "
                "contract, or list the rates"
            )
        return self

    @model_validator(mode="after")
    def _reference_is_known(self) -> Campaign:
        quality = self.contract.quality
        if quality is None or "://" in quality.reference:
            return self
        from catalog.architecture.storage import precision  # noqa: PLC0415 - a cycle

        names = [candidate.name for candidate in self.candidates]
        if quality.reference not in names:
            try:
                precision(quality.reference)
            except CatalogError:
                raise ValueError(
                    f"quality.reference {quality.reference!r} is neither a precision nor a "
                    f"candidate; name one of {', '.join(names)}, a precision, or an address"
                ) from None
        return self

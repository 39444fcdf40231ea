"""Everything that the rehearsal engine can be told: one frozen tree of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from flows.rehearsal.checked import SettingsError, bounded, check, from_json
from flows.rehearsal.rules import Rule
from flows.rehearsal.stepmodel import StepModel
from flows.rehearsal.streamshape import StreamShape, WireShape

Dialect = Literal["vllm", "sglang", "tensorrt_llm", "llama_server"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Scheduler, KV cache and the engine's own disturbances."""

    scheduler: Literal["chunked", "prefill_first", "independent"] = "chunked"
    max_num_seqs: int = bounded(256, low=1)
    token_budget: int = bounded(8192, low=1)
    kv_blocks: int = bounded(32768, low=1)
    block_tokens: int = bounded(16, low=1)
    max_model_len: int = bounded(131072, low=2)
    prefix_cache: bool = False
    queue_limit: int | None = bounded(None, low=0)
    tokens_per_step: int = bounded(1, low=1)  # 1 + drafts of speculative decoding
    acceptance: float = bounded(1.0, low=0, high=1)  # chance that a draft token is kept
    stall_every_s: float | None = bounded(None, low=0.001)
    stall_ms: float = bounded(0.0, low=0)
    cold_requests: int = bounded(0, low=0)
    cold_ms: float = bounded(0.0, low=0)
    new_shape_ms: float = bounded(0.0, low=0)
    keeps_abandoned: bool = False  # goes on with requests whose clients have left

    def __post_init__(self) -> None:
        check(self)
        needed = self.max_num_seqs * self.tokens_per_step
        if self.token_budget < needed:
            raise SettingsError(
                f"token_budget is {self.token_budget}: needs at least max_num_seqs x "
                f"tokens_per_step = {needed}, or a full batch never advances"
            )

    @property
    def context_limit(self) -> int:
        """Tokens of prompt and answer together that one request may use."""
        return min(self.max_model_len, self.kv_blocks * self.block_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSettings:
    """How token counts differ from what was asked."""

    natural_tokens: int | None = bounded(None, low=1)  # median answer unless ignore_eos
    natural_spread: float = bounded(0.5, low=0, high=3)  # sigma of the log-normal length
    output_miss_tokens: int = 0
    prompt_drift_tokens: int = 0
    chat_overhead_tokens: int = bounded(8, low=0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Manners of the server's sockets."""

    latency_ms: float = bounded(0.0, low=0)  # all that is sent arrives so much later
    close_after_stream: bool = False  # although the header promises keep-alive
    keep_alive: bool = True
    idle_close_ms: float | None = bounded(None, low=1)
    accept_delay_ms: float = bounded(0.0, low=0)
    max_connections: int | None = bounded(None, low=1)
    over_limit: Literal["wait", "close", "503"] = "wait"
    backlog: int = bounded(4096, low=1)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleSettings:
    """Loading, readiness, death and stopping."""

    load_s: float = bounded(0.0, low=0)
    never_ready: bool = False
    while_loading: Literal["503", "green", "refuse"] = "503"
    log_lines: tuple[str, ...] = ()  # written to stderr at the start of loading
    log_bytes_per_request: int = bounded(0, low=0)  # written to stdout, waiting for a reader
    die_after_requests: int | None = bounded(None, low=0)
    die_after_s: float | None = bounded(None, low=0)
    exit_code: int = bounded(1, low=0, high=255)
    term_waits_for_clients: bool = False

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """What the server says about itself."""

    version: str = "0.0.0-rehearsal"
    models: tuple[str, ...] | None = None  # null: the served model
    other_models: Literal["accept", "404"] = "accept"
    api_key: str | None = field(default=None, repr=False)
    reported_max_model_len: int | None = bounded(None, low=1)  # null: the true one
    reported: Mapping[str, Any] = field(default_factory=dict)  # other facts, true or not
    metrics: bool = True
    metrics_missing: tuple[str, ...] = ()  # series whose names start so are left out

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSettings:
    """Somebody else's requests: always this many in the engine, with no connection of ours."""

    streams: int = bounded(0, low=0)
    prompt_tokens: int = bounded(128, low=1)
    output_tokens: int = bounded(128, low=1)
    after_s: float = bounded(0.0, low=0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A whole rehearsal server; the defaults are a plain, healthy engine."""

    seed: int = 42
    port: int = bounded(0, low=0, high=65535)
    model: str = "rehearsal"
    dialect: Dialect = "vllm"
    truth: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    steps: StepModel = field(default_factory=StepModel)
    lengths: LengthSettings = field(default_factory=LengthSettings)
    stream: StreamShape = field(default_factory=StreamShape)
    wire: WireShape = field(default_factory=WireShape)
    connection: ConnectionSettings = field(default_factory=ConnectionSettings)
    lifecycle: LifecycleSettings = field(default_factory=LifecycleSettings)
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    foreign: ForeignSettings = field(default_factory=ForeignSettings)
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        check(self)
        for number, rule in enumerate(self.rules):
            shaped(self.stream, rule.stream, f"rules[{number}].stream")
        foreign = self.foreign.prompt_tokens + self.foreign.output_tokens
        if self.foreign.streams and foreign > self.engine.context_limit:
            raise SettingsError(
                f"foreign requests are {foreign} tokens: the engine holds at most "
                f"{self.engine.context_limit}"
            )

    @classmethod
    def from_json(cls, data: object) -> Settings:
        """Settings from a JSON object with the same keys; the rest keeps its default."""
        return from_json(cls, data)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object from which `from_json` makes these settings again."""
        return asdict(self)


def shaped(base: StreamShape, changes: Mapping[str, object], where: str) -> StreamShape:
    """Stream shape with a rule's changes, checked key by key."""
    if not changes:
        return base
    typed = from_json(StreamShape, dict(changes), where)
    return replace(base, **{key: getattr(typed, key) for key in changes})


def like(dialect: Dialect) -> dict[str, Any]:
    """Settings (as JSON) with the manners that this runtime's own server shows.

    llama-server answers 503 while it loads, closes after each streamed answer although its
    header promises keep-alive, holds four slots, and waits for its clients when stopped.
    vLLM refuses connections while it loads and answers 404 for models that it does not
    serve. SGLang and TensorRT-LLM send the finish reason in a chunk of its own.
    """
    manners: dict[str, dict[str, Any]] = {
        "vllm": {
            "lifecycle": {"while_loading": "refuse"},
            "identity": {"other_models": "404"},
            "engine": {"prefix_cache": True},
        },
        "sglang": {
            "stream": {"finish_chunk": "separate"},
            "engine": {"prefix_cache": True},
        },
        "tensorrt_llm": {
            "lifecycle": {"while_loading": "refuse"},
            "stream": {"finish_chunk": "separate"},
            "engine": {"scheduler": "chunked", "prefix_cache": True},
        },
        "llama_server": {
            "engine": {"max_num_seqs": 4, "token_budget": 2048},
            "stream": {"finish_chunk": "separate", "role_content": "null"},
            "connection": {"close_after_stream": True},
            "lifecycle": {"while_loading": "503", "term_waits_for_clients": True},
        },
    }
    return {"dialect": dialect, **manners[dialect]}


def overlaid(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """One JSON object laid over another: objects merge key by key, all else replaces."""
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = overlaid(below, value)
        else:
            merged[key] = value
    return merged

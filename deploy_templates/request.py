"""What a launch is asked for, before any runtime has put it into flags of its own.

A variable that is None was not asked for: the engine's default stands, and the plan says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from deploy_templates.plan import Mode

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Amount = Annotated[float, Field(gt=0)]
CheckpointKind = Literal["hub", "path", "dummy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where the weights come from.

    ``location`` is the folder or file on the host that will run them (None: the hub's name is
    given to the engine); ``sha256`` is that of the content, where it is known.
    """

    kind: CheckpointKind = "hub"
    location: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrors:
    """Addresses of a site's own copies: package index, image registry prefix, model hub."""

    package_index: str | None = None
    registry: str | None = None
    hub: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """The controlled variables: names that no runtime owns, each None unless asked for."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    revision: str | None = None
    weights: str | None = None
    kv_cache: str | None = None
    quantization: str | None = None
    max_model_len: Count | None = None
    memory_utilisation: Share | None = None
    kv_cache_gib: Amount | None = None
    tensor_parallel: Count | None = None
    pipeline_parallel: Count | None = None
    data_parallel: Count | None = None
    expert_parallel: Count | None = None
    max_sequences: Count | None = None
    token_budget: Count | None = None
    context_per_slot: Count | None = None
    threads: Count | None = None
    prefix_caching: bool | None = None
    chunked_prefill: bool | None = None
    attention_backend: str | None = None
    seed: int | None = None
    dummy_weights: bool | None = None
    eager: bool | None = None
    stream_interval: Count | None = None
    generation_config: Literal["engine", "model"] | None = None
    draft_model: str | None = None
    draft_tokens: Count | None = None
    draft_method: str | None = None
    offload_gib: Amount | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """One candidate to be rendered for one runtime release.

    ``device_class`` is that of the catalog (``cuda``, ``cpu-x86``, …). ``programs`` says where
    the host keeps what the runtime calls by name (``{"llama-server": "/opt/…"}``); like
    ``name``, ``port`` and a checkpoint's folder it cannot move a number. ``cpus`` are the
    cores that the server is bound to, ``devices`` the accelerators that it sees (empty: all;
    which ones moves no number, how many does); ``weight_bytes`` lengthens the wait for
    readiness; ``variant`` chooses one of the runtime's forms by name. ``is_open``: the server
    listens on all interfaces, for load from another machine; a container never does.
    """

    name: str
    runtime: str
    version: str
    mode: Mode
    model: str
    port: int
    device_class: str = "cuda"
    served_model: str | None = None
    checkpoint: Checkpoint = Checkpoint()
    weight_bytes: int | None = None
    variables: Variables = Variables()
    cpus: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    variant: str | None = None
    mirrors: Mirrors = Mirrors()
    offline: bool = False
    is_open: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    extra_args: tuple[str, ...] = ()
    extra_env: Mapping[str, str] = field(default_factory=dict)

"""What a serving runtime can do: the part of ``runtime.yaml`` that gate 0 reads."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from catalog.schema.device import DeviceClass
from catalog.schema.fields import Flag, Real, Strict, Whole


class DeviceSupport(Strict):
    """One device class under a runtime: precisions, degrees, and the minimum it needs.

    It holds from release ``since`` to release ``until``, both included.
    """

    device_class: DeviceClass
    weights: tuple[str, ...]
    kv_cache: tuple[str, ...]
    maximum_tensor_parallel: Whole = Field(default=1, ge=1)
    minimum_compute_capability: str | None = None
    compute_capability_by_precision: dict[str, str] = Field(default_factory=dict)
    minimum_driver: str | None = None
    since: str | None = None
    until: str | None = None


class Tradeoffs(Strict):
    """The eight rows of the lesson's runtime comparison, in its words."""

    primary_execution_backend: str
    continuous_batching: str
    kv_cache_management: str
    prefix_caching: str
    chunked_prefill: str
    tensor_parallelism: str
    deployment_complexity: str
    best_production_fit: str


class Version(Strict):
    """A release that the project knows, in order: what ``since`` and ``until`` refer to."""

    version: str
    released: str | None = None
    source: str


class FamilySupport(Strict):
    """An architecture family (config.json's model_type) and the first release with it."""

    family: str
    since: str | None = None


class Runtime(Strict):
    """A runtime's capabilities per device class and release.

    ``prompt_logprobs``: its completions give the log-probability of each token of a prompt
    (``echo``), which tasks scored by likelihood need.
    """

    name: str
    title: str
    simulation: Flag = False
    versions: tuple[Version, ...]
    families: tuple[FamilySupport, ...]
    devices: tuple[DeviceSupport, ...]
    maximum_context: Literal["model"] | Whole = "model"
    default_memory_utilisation: Real = Field(default=0.9, gt=0, le=1)
    kv_block_tokens: Whole = Field(default=16, ge=1)
    prompt_logprobs: Flag = False
    tradeoffs: Tradeoffs
    sources: tuple[str, ...] = ()

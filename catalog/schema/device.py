"""A device and the links between devices: what a datasheet and a driver say, with sources."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from catalog.schema.fields import (
    BandwidthFact,
    BytesFact,
    ComputeFact,
    DurationFact,
    FrequencyFact,
    PowerFact,
    Source,
    Strict,
    Whole,
)

DeviceClass = Literal[
    "cuda", "rocm", "cpu-x86", "cpu-arm", "metal", "gaudi", "intel-gpu", "tpu"
]
ComputeType = Literal["fp32", "bf16", "fp16", "fp8", "int8", "fp4"]


class AchievedRates(Strict):
    """What software is assumed to reach on this device (the lesson's OPEN parameters).

    ``above_peak`` names assumptions that exceed the peak at the rated clock and are kept
    because their source states them; any other that does so is an error of the entry.
    """

    bandwidth: BandwidthFact | None = None
    compute: dict[ComputeType, ComputeFact] = Field(default_factory=dict)
    workspace: BytesFact | None = None
    above_peak: tuple[ComputeType | Literal["bandwidth"], ...] = ()


class Device(Strict):
    """One accelerator, or all sockets of one CPU host taken as one device.

    ``compute`` is dense peak throughput per number format at ``rated_clock``; a chip that
    clocks higher than the datasheet's figure assumes says so in ``maximum_clock``.
    ``flop_per_cycle`` is what all units together finish in one cycle, dense: with the rated
    clock it must give ``compute``, which a figure with sparsity in it would not.
    """

    name: str
    title: str
    vendor: str
    device_class: DeviceClass
    compute_capability: str | None = None
    sockets: Whole = Field(default=1, ge=1)
    memory_channels: Whole | None = Field(default=None, ge=1)
    sources: dict[str, Source] = Field(default_factory=dict)
    marketed_memory: BytesFact
    memory: BytesFact | None = None
    memory_bandwidth: BandwidthFact | None = None
    compute: dict[ComputeType, ComputeFact] = Field(default_factory=dict)
    flop_per_cycle: dict[ComputeType, Whole] = Field(default_factory=dict)
    rated_clock: FrequencyFact | None = None
    maximum_clock: FrequencyFact | None = None
    on_chip_cache: BytesFact | None = None
    power: PowerFact | None = None
    links: tuple[str, ...] = ()
    achieved: AchievedRates = AchievedRates()
    notes: tuple[str, ...] = ()


class EffectiveLink(Strict):
    """Measured all-reduce over ``devices`` ranks: each costs alpha + bytes / bandwidth.

    The bandwidth already holds the 2(k−1)/k factor's denominator side: time is
    alpha + 2(k−1)/k · M / bandwidth.
    """

    devices: Whole = Field(ge=2)
    alpha: DurationFact
    bandwidth: BandwidthFact


class LessonLink(Strict):
    """The lesson's own figures for a link: alpha + M / both-directions bandwidth."""

    alpha: DurationFact
    bandwidth: BandwidthFact


class Link(Strict):
    """A kind of connection between devices of one host; bandwidth is one direction's."""

    name: str
    title: str
    sources: dict[str, Source] = Field(default_factory=dict)
    per_direction: BandwidthFact
    lesson: LessonLink | None = None
    effective: tuple[EffectiveLink, ...] = ()
    notes: tuple[str, ...] = ()

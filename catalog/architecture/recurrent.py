"""Recurrent mixers: a state of constant size per stream instead of a growing cache."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.architecture.mixers import Mixer, heads_per_rank
from catalog.architecture.tally import Tally

_INPUT_BYTES = 2  # engines keep a short convolution's past inputs in the model's 16 bits


def _convolution_bytes(channels: int, kernel: int, ranks: int) -> int:
    return heads_per_rank(channels, ranks) * (kernel - 1) * _INPUT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaNet(Mixer):
    """Gated delta-rule linear attention: a key-by-value matrix per value head."""

    width: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_kernel: int
    state_value_bytes: int

    @property
    def kind(self) -> str:
        return "linear"

    @property
    def channels(self) -> int:
        """Channels of the short convolution: queries, keys and values."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def tally(self) -> Tally:
        values = self.value_heads * self.value_dim
        inputs = self.channels + values + 2 * self.value_heads
        return Tally(
            linear=self.width * (inputs + values),
            norms=self.value_dim,
            vectors=self.channels * self.conv_kernel + 2 * self.value_heads,
        )

    def split(self) -> dict[str, int]:
        return {
            "linear-attention key heads": self.key_heads,
            "linear-attention value heads": self.value_heads,
        }

    def state_bytes(self, ranks: int) -> int:
        heads = heads_per_rank(self.value_heads, ranks)
        matrices = heads * self.key_dim * self.value_dim * self.state_value_bytes
        return matrices + _convolution_bytes(self.channels, self.conv_kernel, ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2(Mixer):
    """Mamba-2 state-space mixer: a head-by-state matrix per head."""

    width: int
    heads: int
    head_dim: int
    state_size: int
    groups: int
    conv_kernel: int
    conv_bias: bool
    state_value_bytes: int

    @property
    def kind(self) -> str:
        return "mamba"

    @property
    def channels(self) -> int:
        """Channels of the short convolution: inputs, B and C."""
        return self.heads * self.head_dim + 2 * self.groups * self.state_size

    def tally(self) -> Tally:
        inner = self.heads * self.head_dim
        return Tally(
            linear=self.width * (inner + self.channels + self.heads + inner),
            norms=inner,
            vectors=self.channels * (self.conv_kernel + self.conv_bias) + 3 * self.heads,
        )

    def split(self) -> dict[str, int]:
        return {"Mamba heads": self.heads}

    def state_bytes(self, ranks: int) -> int:
        heads = heads_per_rank(self.heads, ranks)
        states = heads * self.head_dim * self.state_size * self.state_value_bytes
        return states + _convolution_bytes(self.channels, self.conv_kernel, ranks)

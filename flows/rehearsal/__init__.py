"""The rehearsal engine: an OpenAI-compatible server that simulates, and says so.

Its scheduler batches continuously over a modelled KV cache, its step times come from numbers
or from a device's physics, and its knobs reproduce what real servers do wrong. Nothing that
it measures is a measurement: each answer carries `x-runoff-rehearsal: 1` and the system
fingerprint `rehearsal`.
"""

from __future__ import annotations

from flows.rehearsal.checked import SettingsError
from flows.rehearsal.rules import Failure, Rule
from flows.rehearsal.running import Running, start
from flows.rehearsal.settings import (
    ConnectionSettings,
    EngineSettings,
    ForeignSettings,
    IdentitySettings,
    LengthSettings,
    LifecycleSettings,
    Settings,
    like,
    overlaid,
)
from flows.rehearsal.stepmodel import StepModel
from flows.rehearsal.streamshape import StreamShape, WireShape
from flows.rehearsal.truth import TrueRequest, Truth, read_truth

__all__ = [
    "ConnectionSettings",
    "EngineSettings",
    "Failure",
    "ForeignSettings",
    "IdentitySettings",
    "LengthSettings",
    "LifecycleSettings",
    "Rule",
    "Running",
    "Settings",
    "SettingsError",
    "StepModel",
    "StreamShape",
    "TrueRequest",
    "Truth",
    "WireShape",
    "like",
    "overlaid",
    "read_truth",
    "start",
]

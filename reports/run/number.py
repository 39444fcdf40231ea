"""A number of a result file: value, unit, basis, and how sure it is."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from catalog.quantity import Basis

Real = Annotated[float, Field(allow_inf_nan=False)]


class Frozen(BaseModel):
    """A part of a file of ours: immutable; a newer writer's further keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Number(Frozen):
    """One figure. ``None`` is not measured or not observable, never zero.

    ``low`` and ``high`` are limits at ``level`` by ``method`` (None: too little data for one);
    over ``runs`` launches and ``n`` requests. ``mad`` is raw. Where a value lies among
    failures or beyond the last bound that exists it is None, and ``note`` says which.
    """

    value: Real | None
    unit: str
    basis: Basis
    low: Real | None = None
    high: Real | None = None
    level: Real | None = None
    method: str | None = None
    n: int | None = None
    runs: int | None = None
    mad: Real | None = None
    minimum: Real | None = None
    maximum: Real | None = None
    note: str | None = None

"""Which quota of EC2 a machine counts against: vCPUs of its family, by how it is bought.

Codes: AWS's Service Quotas, service ``ec2``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from flows.amazon.api import Api, ApiError

_FAMILIES: Final = {  # a type's leading letters -> family
    "hpc": "HPC",
    "inf": "Inf",
    "trn": "Trn",
    "vt": "G and VT",
    "gr": "G and VT",
    "dl": "DL",
    "g": "G and VT",
    "p": "P",
}
_STANDARD: Final = "Standard (A, C, D, H, I, M, R, T, Z)"
_ON_DEMAND: Final = {
    "P": "L-417A185B",
    "G and VT": "L-DB2E81BA",
    "HPC": "L-F7808C92",
    "Inf": "L-1945791B",
    "Trn": "L-2C3B7624",
    "DL": "L-6E869C2A",
    _STANDARD: "L-1216C47A",
}
_SPOT: Final = {
    "P": "L-7212CCBC",
    "P5": "L-C4BD4855",
    "G and VT": "L-3819A6DF",
    "Inf": "L-B5D1601B",
    "Trn": "L-6B0D517C",
    "DL": "L-85EED4F7",
    _STANDARD: "L-34B43A08",
}
_LETTERS = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota by its name and code; ``code`` is None where a family has none of that kind."""

    name: str
    code: str | None

    def __str__(self) -> str:
        return f"{self.name!r} ({self.code})" if self.code else repr(self.name)


def quota_of(instance_type: str, *, is_spot: bool) -> Quota:
    """The quota that limits how many vCPUs of this kind may run."""
    letters = _LETTERS.match(instance_type)
    family = _FAMILIES.get(letters.group() if letters else "", _STANDARD)
    if not is_spot:
        return Quota(name=f"Running On-Demand {family} instances", code=_ON_DEMAND[family])
    if instance_type.startswith("p5"):
        family = "P5"
    plain = "P4, P3 and P2" if family == "P" else family
    return Quota(name=f"All {plain} Spot Instance Requests", code=_SPOT.get(family))


def allowed_vcpus(api: Api, region: str, quota: Quota) -> float | None:
    """How many vCPUs the quota allows; None where we may not know."""
    if quota.code is None:
        return None
    try:
        answer = api(
            "service-quotas",
            "get_service_quota",
            region,
            ServiceCode="ec2",
            QuotaCode=quota.code,
        )
        return float(answer["Quota"]["Value"])
    except (ApiError, KeyError):
        return None


def said_of(quota: Quota, allowed: float | None, needed: int | None) -> str:
    """The quota in words, with what it allows and what is needed where that is known."""
    parts = [f"the quota is {quota}"]
    if allowed is not None:
        parts.append(f"it allows {allowed:g} vCPUs")
    if needed is not None:
        parts.append(f"this machine needs {needed}")
    return ", ".join(parts)

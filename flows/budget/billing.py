"""How clouds bill: started units, the least that a machine costs, disk and traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

HOUR_S: Final = 3600.0
MONTH_H: Final = 730.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """A cloud's way of billing, with its source.

    Every started ``unit_s`` is paid, ``least_s`` at the least. Disk is in USD per GB and
    month, traffic out of the cloud in USD per GB, each from low to high.
    """

    unit_s: float
    least_s: float
    source: str
    disk_usd: tuple[float, float] = (0.0, 0.0)
    traffic_usd: tuple[float, float] = (0.0, 0.0)

    def billed_s(self, seconds: float) -> float:
        """Seconds that are paid for a machine that was there so long."""
        if seconds <= 0:
            return 0.0
        whole = math.ceil(round(seconds / self.unit_s, 9)) * self.unit_s
        return max(self.least_s, whole)


OWN: Final = Billing(unit_s=1.0, least_s=0.0, source="no bill: the machine is there anyway")
UNKNOWN: Final = Billing(
    unit_s=HOUR_S,
    least_s=HOUR_S,
    source="its billing is not known here: every started hour is counted",
    disk_usd=(0.0, 0.17),
    traffic_usd=(0.0, 0.12),
)
BILLING: Final = {
    "aws": Billing(
        unit_s=1.0,
        least_s=60.0,
        source="Amazon EC2, per-second billing of Linux instances, 2 October 2017",
        disk_usd=(0.08, 0.08),  # gp3, us-east-1
        traffic_usd=(0.0, 0.09),  # the first 100 GB of a month are free
    ),
    "gcp": Billing(
        unit_s=1.0,
        least_s=60.0,
        source="Google Compute Engine, per second after the first minute",
        disk_usd=(0.04, 0.17),  # standard to SSD persistent disks
        traffic_usd=(0.0, 0.12),
    ),
}


def billing_of(host_class: str, offer: str | None) -> Billing:
    """How a machine is billed: a rented one as the cloud of its offer does."""
    if host_class != "cloud":
        return OWN
    return BILLING.get((offer or "").partition("/")[0], UNKNOWN)

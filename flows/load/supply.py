"""How many connections a plan needs, and whether this machine may hold them."""

import math
import resource
from collections import Counter

from flows.load.errors import CapacityError
from flows.load.plan import Plan
from flows.load.pool import Supply

_FEWEST_SPARES = 2
_FILES_BESIDE = 64


def supplies(plan: Plan) -> list[Supply]:
    """Connections per endpoint: as many as may be in flight at once, and spares.

    Without a cap that number is unknown: a second's arrivals are opened ahead, and the
    spares cover those of 50 ms, so that the pool grows off the clock. Spares are few on
    purpose: some servers give each open connection, even an idle one, a thread of a small
    pool.
    """
    header = plan.header
    counts = Counter(request.endpoint for request in plan.requests)
    found = []
    for index in range(len(header.endpoints)):
        share = counts[index] / max(1, len(plan.requests))
        if header.concurrency is not None:
            needed = math.ceil(header.concurrency * share)
            spares = max(_FEWEST_SPARES, needed // 8)
        else:
            rate = (header.offered_rate or 0.0) * share
            needed = math.ceil(rate)
            spares = max(_FEWEST_SPARES, math.ceil(rate / 20))
        ahead = min(needed + spares, counts[index])
        found.append(Supply(ahead=ahead, spares=min(spares, counts[index])))
    return found


def make_room(connections: int) -> None:
    """Raise the limit on open files as far as allowed; raises CapacityError if too low."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _FILES_BESIDE
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise CapacityError(
            f"{connections} connections need {needed} open files, and the limit is {hard}:"
            f" raise it (ulimit -Hn {needed}) or lower the concurrency"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

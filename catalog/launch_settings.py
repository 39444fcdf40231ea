"""What a candidate's launch settings say that the paper vote must know."""

from __future__ import annotations

import re

from catalog.errors import CatalogError
from catalog.schema import Candidate

OOM_FROM = 0.98
_UTILISATION_KEYS = ("memory_utilisation", "gpu_memory_utilization", "mem_fraction_static")
_LENGTH_KEYS = ("max_model_len", "context_length", "max_seq_len")
_FLAG = re.compile(r"^--(?P<key>[a-z-]+)(?:=(?P<value>.*))?$")


def memory_utilisation(candidate: Candidate, default: float, *, accepts_oom: bool) -> float:
    """Share of a device's memory that the server may use; ``default`` is the runtime's.

    Raises
    ------
    CatalogError
        If it is no share, or so high that the driver's own needs run out of memory and the
        campaign does not accept that.
    """
    for key in _UTILISATION_KEYS:
        stated = _setting(candidate, key)
        if stated is None:
            continue
        share = _number(candidate, key, stated)
        if not 0 < share <= 1:
            raise _refused(
                candidate, key, f"{stated} is not a share", "Give it between 0 and 1"
            )
        if share >= OOM_FROM and not accepts_oom:
            raise _refused(
                candidate,
                key,
                f"{stated} leaves no memory for the driver's and the framework's own needs",
                f"Stay below {OOM_FROM}, or state i_accept_oom: true in the campaign",
            )
        return share
    return default


def maximum_model_length(candidate: Candidate) -> int | None:
    """Longest request in tokens that the launch allows; None where it says nothing."""
    for key in _LENGTH_KEYS:
        stated = _setting(candidate, key)
        if stated is not None:
            return _tokens(candidate, key, stated)
    return None


def _tokens(candidate: Candidate, key: str, stated: object) -> int:
    length = _number(candidate, key, stated)
    if length < 1 or not length.is_integer():
        raise _refused(
            candidate, key, f"{stated} is not a length", "Give a whole number of tokens"
        )
    return int(length)


def _refused(candidate: Candidate, key: str, seen: str, do: str) -> CatalogError:
    where = f"candidate {candidate.name!r}, {key}"
    return CatalogError(where, seen, do, value=candidate.name)


def _setting(candidate: Candidate, key: str) -> object | None:
    """The setting, or the flag of that name among the extra arguments."""
    stated: object = candidate.settings.get(key)
    if stated is not None:
        return stated
    words = candidate.extra_args
    for position, word in enumerate(words):
        flag = _FLAG.match(word)
        if flag is not None and flag["key"] == key.replace("_", "-"):
            following = words[position + 1] if position + 1 < len(words) else None
            return flag["value"] if flag["value"] is not None else following
    return None


def _number(candidate: Candidate, key: str, stated: object) -> float:
    try:
        return float(str(stated))
    except ValueError:
        seen = f"{stated!r} is not a number"
        raise _refused(candidate, key, seen, "Give a number") from None


def threads(candidate: Candidate) -> int | None:
    """Threads that a CPU candidate decodes with by its settings; None: it says nothing."""
    stated, cpus = candidate.settings.get("threads"), candidate.settings.get("cpus")
    if isinstance(stated, int) and stated > 0:
        return stated
    return len(cpus) if isinstance(cpus, list | tuple) and cpus else None

"""What a reader calls a metric of the summary."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = {
    "usd_per_1m": "$ per 1M compliant tokens",
    "usd_per_1m_compliant": "$ per 1M compliant tokens",
    "usd_per_1m_output": "$ per 1M output tokens",
    "held_rate": "highest held rate",
    "monthly_usd": "monthly cost",
    "compliant_tok_per_machine_hour": "compliant tokens per machine-hour",
    "output_tok_per_s_per_device": "output tokens/s per device",
    "output_tokens_per_s": "output tokens/s",
    "compliant_tokens_per_s": "compliant tokens/s",
}


_PERCENTILE: Final = re.compile(r"(ttft|tpot|itl|e2e)_(p[\d.]+)_ms")
_STATISTICS: Final = {"tpot": "TPOT", "p95_gap": "p95 gap", "max_gap": "largest gap"}
_STATISTIC: Final = re.compile(r"\b(?:tpot|p95_gap|max_gap)\b")


def statistic_name(statistic: str) -> str:
    """A clause's statistic as a reader calls it: ``p95 TPOT``, ``goodput (TPOT)``."""
    return _STATISTIC.sub(lambda found: _STATISTICS[found[0]], statistic)


def metric_name(metric: str) -> str:
    """``TTFT p95`` for ``ttft_p95_ms``; one that is not known, without its underscores."""
    found = _PERCENTILE.fullmatch(metric)
    if found is not None:
        return f"{found[1].upper()} {found[2]}"
    return _NAMES.get(metric, metric.replace("_", " "))

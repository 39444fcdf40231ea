"""Short phrases that pages and terminals share: figures with their tags, names, margins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from catalog.quantity import Basis, Dimension, Quantity, convert, format_value, significant
from catalog.verdict import GateResult, Status, Verdict, shown

GATE_NUMBERS = {
    "support": "0",
    "memory": "1",
    "bandwidth": "2",
    "compute": "3",
    "utilisation": "3b",
    "interconnect": "4",
    "economics": "5",
}
TAGS = {
    Basis.SPECIFICATION: "s",
    Basis.BOUND: "b",
    Basis.ASSUMPTION: "a",
    Basis.PREDICTION: "p",
    Basis.MEASUREMENT: "m",
    Basis.SIMULATION: "sim",
}
LEGEND = (
    "Basis: s specification, b bound (proof), a assumption (OPEN), m measurement; only a bound "
    "rejects. "
    "Margin: share of the limit that is left. –: the contract does not ask this."
)
_NAMED_CHARACTERS = 60
_LESSON = {
    "decimal_capacity": "marketed bytes / 2³⁰",
    "usable_at_utilisation": "of which usable",
    "spare_kv": "KV to spare",
    "t_mem": "t_mem",
    "t_prefill": "t_prefill",
    "break_even_alpha": "break-even α",
}
_TRAILING_ZEROS = re.compile(r"\.(\d*?)0+(?!\d)")
_MONEY = re.compile(r"[A-Z]{3}(/|\Z)")
_LATENCY = {"s": 1e3, "ms": 1.0}


def per_second(rate: str) -> str:
    """``request/s`` behind a rate of exactly one, else ``requests/s``."""
    return "request/s" if rate == "1" else "requests/s"


def gate_title(gate: str) -> str:
    """``gate 2 (bandwidth)``."""
    return f"gate {GATE_NUMBERS.get(gate, '?')} ({gate})"


def gate_name(gate: str) -> str:
    """``2 bandwidth``."""
    return f"{GATE_NUMBERS.get(gate, '')} {gate}".strip()


def tagged(quantity: Quantity) -> str:
    """The quantity with its basis as a short tag."""
    return f"{plain(quantity)} {TAGS[quantity.basis]}"


def lesson_figure(quantity: Quantity) -> str:
    """A figure as the lesson writes it: bytes moved in GB, the rest as it comes."""
    return shown(quantity, "GB" if quantity.unit == "B" else "")


def lesson_figures(gate: GateResult) -> str:
    """All of the lesson's figures of a gate: ``step bytes 18.34 GB, t_mem 11.83 ms``."""
    return ", ".join(
        f"{_LESSON.get(name, name.replace('_', ' '))} {lesson_figure(figure)}"
        for name, figure in gate.lesson.items()
    )


def plain(quantity: Quantity) -> str:
    """The quantity as a person writes it: ``1,000 ms``, ``25 ms``, ``95%``, ``$4.50/h``."""
    if quantity.unit in _LATENCY:
        return _trimmed(significant(quantity.value * _LATENCY[quantity.unit], 4)) + " ms"
    if _MONEY.match(quantity.unit):
        return format_value(quantity.value, quantity.unit)
    return _trimmed(format_value(quantity.value, quantity.unit, 4))


def percent(share: float) -> str:
    """A signed share of a limit: ``+53%``, ``−9.6%``."""
    return f"{'−' if share < 0 else '+'}{significant(abs(share) * 100, 2)}%"


def money(amount: float | None, currency: str = "USD", per: str = "") -> str:
    """An amount with three digits in its currency, or a dash for none."""
    return "–" if amount is None else format_value(amount, currency) + per


def layout(verdict: Verdict) -> str:
    """Devices and degree: ``2× NVIDIA A100 SXM4 80GB, TP=2``."""
    device = verdict.device_title or verdict.device or verdict.offer or "as it runs"
    count, degree = verdict.device_count or 1, verdict.tensor_parallel or 1
    text = device if count == 1 else f"{count}× {device}"
    return text if degree == 1 else f"{text}, TP={degree}"


def engine(verdict: Verdict) -> str:
    """Runtime and version."""
    return " ".join(part for part in (verdict.runtime, verdict.version) if part) or "–"


def names(candidates: Sequence[str]) -> str:
    """The names as a list; a long one is cut and says by how much."""
    text = ""
    for number, name in enumerate(candidates):
        if text and len(text) + len(name) > _NAMED_CHARACTERS:
            return f"{text} and {len(candidates) - number:,} more"
        text += f", {name}" if text else name
    return text


def usable(gate: GateResult) -> Quantity | None:
    """What the assumption's figure is compared with: a share of the limit for memory."""
    detail = gate.details.get("usable")
    if not isinstance(detail, Quantity):
        return gate.limit
    gib = convert(detail.value, "GiB", from_unit=detail.unit, dimension=Dimension.BYTES)
    return detail.derived(gib, "GiB", detail.basis)


def decisive_basis(gate: GateResult) -> Basis | None:
    """Which column the margin comes from: the bound of a reject, else the worse of both."""
    if gate.margin is None or gate.bound is None:
        return None if gate.margin is None else Basis.ASSUMPTION
    if gate.status is Status.REJECT or gate.assumption is None:
        return gate.bound.basis
    worse = gate.assumption if gate.assumption.value > gate.bound.value else gate.bound
    return worse.basis


def _trimmed(text: str) -> str:
    """``text`` without the zeros at the end of its decimals."""
    return _TRAILING_ZEROS.sub(lambda found: f".{found[1]}" if found[1] else "", text)

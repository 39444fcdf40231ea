"""What a run's contract asks, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from catalog.quantity import format_value, significant
from reports.run.plan_file import ContractFacts, LoadPoint, MatrixFacts, OfflineFacts, SloFacts

_STATISTICS = {
    "tpot": "TPOT (a request's mean time per output token after the first)",
    "p95_gap": "p95 gap between output chunks",
    "max_gap": "largest gap between output chunks",
}
_SHORT = {"tpot": "TPOT", "p95_gap": "p95 gap", "max_gap": "largest gap"}
_FIRST = {"any_token": "TTFT", "answer_token": "TTFA (the first token of the answer)"}
_PROCESS = {"poisson": "Poisson", "constant": "constant", "gamma": "gamma"}


def itl_name(slo: SloFacts) -> str:
    """The ITL statistic of the contract, as a column calls it."""
    return _SHORT[slo.itl_statistic]


def limits_line(contract: ContractFacts) -> str:
    """The limits in one line: ``p95 TTFT ≤ 1,000 ms, p95 TPOT ≤ 25 ms, goodput ≥ 95%``."""
    slo, parts = contract.slo, []
    percentile = f"p{slo.percentile:g}"
    if slo.ttft_ms is not None:
        first = "TTFA" if slo.ttft_counts == "answer_token" else "TTFT"
        parts.append(f"{percentile} {first} ≤ {_ms(slo.ttft_ms)}")
    if slo.itl_ms is not None:
        parts.append(f"{percentile} {itl_name(slo)} ≤ {_ms(slo.itl_ms)}")
    if slo.goodput is not None:
        parts.append(f"goodput ≥ {_share(slo.goodput)}")
    if contract.offline is not None:
        parts.append(_goal(contract.offline))
    if contract.cost_ceiling_usd_per_1m is not None:
        ceiling = format_value(contract.cost_ceiling_usd_per_1m, "USD/Mtok")
        parts.append(f"at most {ceiling}")
    return ", ".join(parts) or "no limits"


def slo_sentences(contract: ContractFacts, matrix: MatrixFacts) -> Iterator[str]:
    """The limits as sentences with numerator and denominator, and the budget of misses."""
    slo = contract.slo
    clauses = []
    if slo.ttft_ms is not None:
        clauses.append(f"{_FIRST[slo.ttft_counts]} at most {_ms(slo.ttft_ms)}")
    if slo.itl_ms is not None:
        clauses.append(f"{_STATISTICS[slo.itl_statistic]} at most {_ms(slo.itl_ms)}")
    if clauses:
        yield (
            f"Each clause by itself: the {slo.percentile:g}th percentile over the requests "
            f"scheduled in the measured window, failures counted as infinite, has "
            f"{' and '.join(clauses)}."
        )
    if slo.goodput is not None:
        each = " and ".join(clauses) or "it is answered whole"
        yield (
            f"Goodput: of the requests scheduled in the measured window (denominator), at "
            f"least {_share(slo.goodput)} are compliant (numerator): answered whole, with "
            f"{each}, each request by itself."
        )
        misses = floor(matrix.requests * (1 - slo.goodput) + 1e-9)
        yield (
            f"That is a budget of {misses:,} misses in {matrix.requests:,} requests; the claim "
            "must hold at its one-sided 95% limit, so fewer are allowed in practice."
        )
    if contract.offline is not None:
        yield f"Offline: {_goal(contract.offline)}; there are no latency limits."


def workload_lines(contract: ContractFacts) -> Iterator[str]:
    """Model, precision, lengths and quality, a line each."""
    yield f"Model {contract.model}, weights {contract.weights}, KV cache {contract.kv_cache}."
    natural = "to its length" if contract.output == "forced" else "until the model ends it"
    yield (
        f"Prompts: {lengths(contract.prompt_tokens)}. Answers: "
        f"{lengths(contract.output_tokens)}, each generated {natural}."
    )
    if contract.cached_prefix_tokens:
        yield f"Every prompt shares a prefix of {contract.cached_prefix_tokens:,} tokens."
    else:
        yield "No two prompts share a prefix, so no prefix cache can help."
    quality = contract.quality
    if quality is not None:
        loss = f"at most {quality.max_loss:g} points lost against {quality.reference}"
        tasks = f" on {', '.join(quality.tasks)}" if quality.tasks else ""
        yield f"Quality: {loss}{tasks}."
    else:
        yield "Quality: the contract asks for none, so none was proven."


def arrivals_line(matrix: MatrixFacts) -> str:
    """The load that the contract is judged under."""
    if matrix.decision_point is None:
        return "Every closed-loop level is measured and judged as a family."
    points = {point.name: point for point in matrix.load_points}
    point = points.get(matrix.decision_point)
    where = f" (load point {matrix.decision_point})"
    if point is None:
        return f"Judged at {matrix.decision_point}."
    sessions = f" Requests per cell: {matrix.requests:,}; launches: {matrix.replications}."
    return f"Judged under {load(point)}{where}.{sessions}"


def load(point: LoadPoint) -> str:
    """A load point in words: ``16 streams in flight``, ``Poisson arrivals at 8 requests/s``."""
    if not point.is_open:
        streams = f"{point.concurrency} stream{'s' if point.concurrency != 1 else ''}"
        return f"{streams} kept in flight (closed loop)"
    rate = "" if point.rate_per_s is None else f" at {_per_s(point.rate_per_s)}"
    cap = "" if point.max_in_flight is None else f", at most {point.max_in_flight} in flight"
    return f"{_PROCESS.get(point.process, point.process)} arrivals{rate}{cap}"


def stated(level: float) -> str:
    """A level of load as it was stated: ``8``, ``0.5``; a searched one with three digits."""
    return f"{level:g}" if len(f"{level:g}") <= 5 else significant(level)


def lengths(text: str) -> str:
    """A length distribution of the campaign file in words."""
    name, _, rest = text.partition(":")
    if not rest:
        return f"{int(text):,} tokens" if text.isdecimal() else f"{text} tokens"
    parts = rest.split(":")
    if name == "normal" and len(parts) >= 2:
        return f"normal, mean {parts[0]}, standard deviation {parts[1]} tokens"
    if name == "uniform" and len(parts) >= 2:
        return f"uniform from {parts[0]} to {parts[1]} tokens"
    return f"{text} tokens"


def out_of_scope(contract: ContractFacts) -> Iterator[str]:
    """What the run says nothing about."""
    if contract.output == "forced":
        yield "how long answers would be by themselves: their length was forced"
    if contract.quality is None:
        yield "the quality of answers"
    if contract.demand is None:
        yield "how many instances a real demand needs: the contract states none"
    yield "other lengths, other traffic, and more than one host"


def _per_s(rate: float) -> str:
    return f"{stated(rate)} request{'s' if rate != 1 else ''}/s"


def _goal(offline: OfflineFacts) -> str:
    if offline.tokens_per_hour is not None:
        return f"at least {significant(offline.tokens_per_hour)} output tokens/h"
    if offline.requests_per_hour is not None:
        return f"at least {significant(offline.requests_per_hour)} requests/h"
    return f"{offline.requests or 0:,} requests within {significant(offline.deadline_s or 0)} s"


def _ms(value: float) -> str:
    return f"{value:,g} ms" if value < 1e6 else f"{significant(value)} ms"


def _share(value: float) -> str:
    return f"{value * 100:g}%"

"""What a person reads after a load test: verdict, problems, percentiles, sums, self-check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from catalog.quantity import significant
from flows.bench.calibrate import Calibration
from flows.bench.spec import CellSpec
from flows.console import Console
from reports.cell import CellSummary, Verdict
from reports.cell.clauses import Clause
from reports.cell.goodput import Goodput
from reports.metric_names import statistic_name
from reports.tables import Cell, Column, Meaning, Table

_LATENCIES: Final = {
    "ttft": "TTFT, from scheduled",
    "service_ttft": "TTFT, from sent",
    "ttfa": "first answer token",
    "itl": "ITL (gaps)",
    "tpot": "TPOT",
    "e2e": "E2E",
    "client_queue": "wait in the client",
}
_SPREAD: Final = {"ttft_ms": "TTFT", "itl_ms": "ITL", "tpot_ms": "TPOT", "e2e_ms": "E2E"}
_MEANINGS: Final[dict[str, Meaning]] = {"holds": "pass", "misses": "fail"}
_LAUNCHES: Final = (
    "One launch of the server is one replication as evidence, however often it was measured: "
    "restart it between replications for a claim."
)
_PERCENTS: Final = (50, 90, 95, 99)


def show_cell(console: Console, spec: CellSpec, summary: CellSummary) -> None:
    """Print one replication's summary."""
    console.heading(f"{spec.cell}, replication {spec.replication}: {summary.verdict.value}")
    console.paragraphs(_problems(summary))
    console.table(_latency_table(summary))
    console.table(_goodput_table(summary))
    clauses = [clause for clause in summary.clauses.values() if clause.limit is not None]
    if clauses:
        console.table(_clause_table(clauses))
    console.heading("Requests and load")
    console.paragraphs(_load_lines(summary))
    console.heading("Client self-check")
    console.paragraphs(_client_lines(summary))


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, a dash for what is unknown."""
    return "–" if value is None else significant(value, digits)


def _problems(summary: CellSummary) -> Iterator[str]:
    for problem in summary.problems:
        yield f"! {problem.concern.value}: {problem.seen}. {problem.matters} {problem.do}"
    if not summary.problems:
        yield "No problem was found."


def _latency_table(summary: CellSummary) -> Table:
    right = [Column(title=f"p{percent}", right=True) for percent in _PERCENTS]
    failing = [
        Column(title=f"p{percent} with failures", right=True) for percent in _PERCENTS[2:]
    ]
    rows = []
    for name, title in _LATENCIES.items():
        measure = summary.measures[name]
        if not measure.ok.count or (name == "ttfa" and measure == summary.measures["ttft"]):
            continue
        values = [measure.ok.mean, *(measure.ok.percentiles[p] for p in _PERCENTS)]
        cells = [Cell(text=number(value)) for value in values]
        for percent in _PERCENTS[2:]:
            value = measure.with_failures.percentiles[percent]
            beyond = value is None and measure.with_failures.count > 0
            cells.append(Cell(text="∞" if beyond else number(value)))
        rows.append((Cell(text=title), *cells))
    return Table(
        title=f"Latency in ms, {summary.counts['measured']} measured requests",
        columns=(Column(title=""), Column(title="mean", right=True), *right, *failing),
        rows=tuple(rows),
    )


def _goodput_table(summary: CellSummary) -> Table:
    titles = ("ITL statistic", "compliant", "of scheduled", "share", "95% lower bound")
    rows = []
    for name, found in summary.goodput.items():
        chosen = name == summary.settings.slo.itl_statistic
        title = statistic_name(name)
        rows.append(
            (Cell(text=f"{title} (the contract's)" if chosen else title), *_shares(found))
        )
    return Table(
        title="Goodput",
        columns=tuple(Column(title=title, right=bool(i)) for i, title in enumerate(titles)),
        rows=tuple(rows),
    )


def _shares(found: Goodput) -> Iterator[Cell]:
    yield Cell(text="–" if found.compliant is None else str(found.compliant))
    yield Cell(text=str(found.scheduled))
    yield Cell(text=_percent(found.share))
    yield Cell(text="–" if found.lower_bound is None else f"≥ {_percent(found.lower_bound)}")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _clause_table(clauses: list[Clause]) -> Table:
    titles = ("clause", "limit", "seen", "95% low", "95% high", "verdict")
    rows = []
    for clause in clauses:
        shown = _percent if clause.statistic.startswith("goodput") else number
        values = (clause.limit, clause.value, clause.low, clause.high)
        verdict = Cell(text=clause.verdict, meaning=_MEANINGS.get(clause.verdict, "warn"))
        rows.append(
            (
                Cell(text=statistic_name(clause.statistic)),
                *(Cell(text=shown(value)) for value in values),
                verdict,
            )
        )
    return Table(
        title="Contract",
        columns=tuple(
            Column(title=title, right=0 < i < len(titles) - 1) for i, title in enumerate(titles)
        ),
        rows=tuple(rows),
    )


def _load_lines(summary: CellSummary) -> Iterator[str]:
    counts, through = summary.counts, summary.throughput
    yield (
        f"planned {counts['planned']} = sent {counts['sent']} + not sent {counts['not_sent']}; "
        f"sent = ok {counts['ok']} + failed {counts['failed']} + truncated "
        f"{counts['truncated']} + timed out {counts['timed_out']} + cancelled "
        f"{counts['cancelled']}"
    )
    yield (
        f"warm-up {counts['warmup']}, measured {counts['measured']}, "
        f"drain {counts['drain']} ({_held(summary)})"
    )
    yield (
        f"offered {number(summary.settings.offered_rate)}/s, achieved "
        f"{number(through.achieved_rate)}/s; {number(through.requests_per_s)} requests/s and "
        f"{number(through.output_tokens_per_s)} output tokens/s completed"
    )
    yield (
        f"in flight {number(through.in_flight_mean)} on average, {through.in_flight_peak} at "
        f"most; gaps between arrivals: CV {number(summary.arrivals.cv)}"
    )
    prompt, output = summary.prompt.seen, summary.output.seen
    yield (
        f"tokens per prompt {number(prompt.low)} to {number(prompt.high)}, mean "
        f"{number(prompt.mean, 4)}; per answer {number(output.low)} to {number(output.high)}, "
        f"mean {number(output.mean, 4)}"
    )


def _held(summary: CellSummary) -> str:
    """Whether requests came until the last measured one was answered."""
    early_s = max((one.load_fell_early_s or 0.0 for one in summary.observed.clients), default=0)
    if early_s:
        return f"ended {number(early_s)} s before the last measured answer"
    return "holds the load to the end"


def _client_lines(summary: CellSummary) -> Iterator[str]:
    client, server = summary.client, summary.observed.server
    yield (
        f"send lag p99 {number(client.send_lag_ms_p99)} ms, loop lag p99 "
        f"{number(client.loop_lag_ms_p99)} ms, {_percent(client.cpu_share)} of a core; round "
        f"trip {number(client.rtt_ms_p50)} ms, {_percent(client.rtt_share_of_ttft)} of TTFT"
    )
    if server is None:
        yield "server metrics: not available, so that foreign traffic would go unseen"
        return
    yield (
        f"server: {number(server.requests_before)} requests in it before and "
        f"{number(server.requests_after)} after, {number(server.foreign_peak)} beyond ours at "
        f"most; {_percent(server.prefix_hit_share)} of prompt tokens from its prefix cache"
    )


def show_replications(
    console: Console, document: Mapping[str, Any], summaries: Sequence[CellSummary]
) -> None:
    """Print how much the replications differ."""
    rows = []
    for name, title in _SPREAD.items():
        spread = document["spread"][name]["p95"]
        values = (spread or {}).get
        cells = (Cell(text=number(values(key))) for key in ("median", "mad", "min", "max"))
        rows.append((Cell(text=f"p95 {title}"), *cells))
    titles = ("ms", "median", "± MAD", "least", "most")
    console.table(
        Table(
            title=f"Over {len(summaries)} replications",
            columns=tuple(Column(title=title, right=bool(i)) for i, title in enumerate(titles)),
            rows=tuple(rows),
        )
    )
    valid = sum(summary.verdict is Verdict.VALID for summary in summaries)
    console.paragraphs(
        [
            f"{valid} of {len(summaries)} are valid; of the verdict the worst counts.",
            _LAUNCHES,
        ]
    )


def show_calibration(console: Console, calibration: Calibration) -> None:
    """Print the client's error and effort by number of streams, and its ceiling."""
    titles = (
        "streams",
        "chunks/s",
        "stamp late p50, µs",
        "p99, µs",
        "gap p99 off, ms",
        "send lag p99, ms",
        "of a core",
        "µs/chunk",
    )
    rows = tuple(
        (
            Cell(text=str(level.streams)),
            *(
                Cell(text=number(value))
                for value in (
                    level.chunks_per_s,
                    level.bias_us_p50,
                    level.bias_us_p99,
                    level.gap_error_ms_p99,
                    level.send_lag_ms_p99,
                )
            ),
            Cell(
                text=_percent(level.cpu_share),
                meaning="pass" if level.is_trustworthy else "fail",
            ),
            Cell(text=number(level.cpu_us_per_chunk)),
        )
        for level in calibration.levels
    )
    columns = tuple(Column(title=title, right=True) for title in titles)
    console.table(Table(title="The client against a null server", columns=columns, rows=rows))
    ceiling = number(calibration.ceiling_chunks_per_s)
    advice = "beyond that, or where a column above is too much for your limits, use --shards."
    console.paragraphs(
        [f"One load process reaches 80% of a core at about {ceiling} chunks/s here; {advice}"]
    )

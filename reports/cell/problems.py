"""All that a cell can warn of: what happened, why it matters, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """What a cell is good for; of several the first in this order is the cell's."""

    CLIENT_BOUND = "client-bound"
    INVALID = "invalid"
    CAP_BOUND = "cap-bound"
    NOT_STEADY = "not-steady"
    VALID = "valid"


class Concern(StrEnum):
    """The closed list of what a cell can warn of."""

    SEND_LAG = "send lag"
    LOOP_LAG = "loop lag"
    CLIENT_CPU = "client CPU"
    NOTHING_MEASURED = "nothing measured"
    SUMS = "sums do not add up"
    OUTPUT_LENGTH = "output length missed"
    PROMPT_LENGTH = "prompt length missed"
    ARRIVALS = "arrivals off"
    LITTLE = "Little's law broken"
    CAP = "cap bound"
    TREND = "trend"
    INCOMPLETE = "incomplete"
    FIRST_WAVE = "first wave included"
    WARMUP = "warm-up not converged"
    FEW = "too few requests"
    FAILURES = "failed requests"
    TRUNCATED = "truncated answers"
    RECONNECTED = "reconnected"
    RATE = "rate not achieved"
    IN_FLIGHT = "streams not kept in flight"
    BUNCHED = "ITL not observable here"
    NO_USAGE = "tokens not reported"
    COUNTS = "token counts disagree"
    LOCKSTEP = "lockstep"
    STATISTIC = "ITL statistic decides"
    FOREIGN = "foreign traffic"
    NOT_DRAINED = "not drained"
    CACHED = "prompts were cached"
    PERHAPS_CACHED = "prompts may have been cached"
    NETWORK = "network in TTFT"


VERDICTS: Final[Mapping[Concern, Verdict]] = {
    Concern.SEND_LAG: Verdict.CLIENT_BOUND,
    Concern.LOOP_LAG: Verdict.CLIENT_BOUND,
    Concern.CLIENT_CPU: Verdict.CLIENT_BOUND,
    Concern.NOTHING_MEASURED: Verdict.INVALID,
    Concern.SUMS: Verdict.INVALID,
    Concern.OUTPUT_LENGTH: Verdict.INVALID,
    Concern.PROMPT_LENGTH: Verdict.INVALID,
    Concern.ARRIVALS: Verdict.INVALID,
    Concern.LITTLE: Verdict.INVALID,
    Concern.FOREIGN: Verdict.INVALID,
    Concern.CACHED: Verdict.INVALID,
    Concern.CAP: Verdict.CAP_BOUND,
    Concern.TREND: Verdict.NOT_STEADY,
}


def causes(verdict: str, problems: Iterable[str]) -> tuple[str, ...]:
    """Those of the named problems that give a cell this verdict."""
    giving = {str(concern) for concern, given in VERDICTS.items() if given == verdict}
    return tuple(each for each in problems if each in giving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One warning: its name, what was seen, why it matters, and what helps."""

    concern: Concern
    seen: str

    @property
    def matters(self) -> str:
        """Why the reader should care."""
        return _TEXTS[self.concern][0]

    @property
    def do(self) -> str:
        """The option or the step that helps."""
        return _TEXTS[self.concern][1]

    def to_json(self) -> dict[str, str]:
        """Return the warning's four parts."""
        return {
            "problem": self.concern.value,
            "seen": self.seen,
            "matters": self.matters,
            "do": self.do,
        }


_QUIET: Final = "Use --shards, fewer streams, or a machine with nothing else on it."

_TEXTS: Final[Mapping[Concern, tuple[str, str]]] = {
    Concern.SEND_LAG: (
        "Requests left later than they were due: the client's own delay is in every latency.",
        _QUIET,
    ),
    Concern.LOOP_LAG: (
        "The event loop came late to its sockets: what it sent and stamped is partly its own.",
        _QUIET,
    ),
    Concern.CLIENT_CPU: (
        "A client near a whole core measures itself, not the server.",
        "Use --shards; `runoff bench --calibrate` shows this machine's ceiling.",
    ),
    Concern.NOTHING_MEASURED: (
        "Without a measured request that succeeded there is no statistic.",
        "Read why requests failed; else raise --num-requests above --warmup-requests.",
    ),
    Concern.SUMS: (
        "Requests that are lost or counted twice make every share wrong.",
        "Measure again; keep the records (--raw) and report this as a bug.",
    ),
    Concern.OUTPUT_LENGTH: (
        "Shorter or longer answers change latency, throughput and cost.",
        "See that the server honours ignore_eos, or ask for --output natural.",
    ),
    Concern.PROMPT_LENGTH: (
        "Prefill time grows with the prompt: another length is another workload.",
        "Send token ids (a completions endpoint), or give the model's --tokenizer.",
    ),
    Concern.ARRIVALS: (
        "Latency under load depends on how requests arrive; these did not arrive as asked.",
        "Use --shards or a quieter machine; check that no other client shares the seed.",
    ),
    Concern.LITTLE: (
        "In flight, rate and residence contradict each other: some times are wrong.",
        "Measure again; keep the records (--raw) and report this as a bug.",
    ),
    Concern.CAP: (
        "Requests waited in the client while the server waited for none: its limit is unseen.",
        "Drop --concurrency to load the server freely, or raise it.",
    ),
    Concern.TREND: (
        "The cell moved while it was measured: its percentiles depend on when it stopped.",
        "Measure longer (--duration), warm up longer, or lower the rate below capacity.",
    ),
    Concern.INCOMPLETE: (
        "The run was interrupted: fewer requests, and perhaps not those at the end.",
        "Measure again for a claim.",
    ),
    Concern.FIRST_WAVE: (
        "The first streams start all at once: their prefills queue, and they are the tail.",
        "Use --warmup-requests of at least --concurrency.",
    ),
    Concern.WARMUP: (
        "Median TTFT or ITL still varied by 2% when the warm-up's limit was reached.",
        "Raise --warmup-requests; under Poisson arrivals this is common and voids nothing.",
    ),
    Concern.FEW: (
        "A one-sided 95% bound of p95 needs 59 requests, one of p99 299.",
        "Raise --num-requests.",
    ),
    Concern.FAILURES: (
        "Failed requests are not compliant, and percentiles of the others look better.",
        "Read the percentiles with failures; the reasons are in the records (--raw).",
    ),
    Concern.TRUNCATED: (
        "Streams ended early and cleanly: many tools count these as successes.",
        "Look at the server's log for the times of these requests.",
    ),
    Concern.RECONNECTED: (
        "The server closed connections that it had promised to keep; set-up time came on top.",
        "Check keep-alive timeouts between the client and the server.",
    ),
    Concern.RATE: (
        "The server saw another rate than the one in the title of the cell.",
        "Lower --request-rate, drop the cap, or use --shards.",
    ),
    Concern.IN_FLIGHT: (
        "The closed loop held fewer streams than asked: it measured a lower load.",
        "Check the server's and the proxy's connection limits.",
    ),
    Concern.BUNCHED: (
        "Chunks arrived in bunches, as behind a buffering proxy: gaps say nothing of tokens.",
        "Measure past the proxy, or turn its response buffering off.",
    ),
    Concern.NO_USAGE: (
        "Output was counted in chunks, and a chunk may hold several tokens.",
        "Let the server send usage (stream_options.include_usage), or give --tokenizer.",
    ),
    Concern.COUNTS: (
        "The server's count rules here; throughput by another count differs as much.",
        "Check that --tokenizer is the served model's.",
    ),
    Concern.LOCKSTEP: (
        "Streams that start and end together prefill together: TTFT is that of waves.",
        "Vary the output length, or use an open arrival process.",
    ),
    Concern.STATISTIC: (
        "The same requests hold the goodput under one ITL statistic and miss it under another.",
        "Settle --itl-statistic in the contract before comparing.",
    ),
    Concern.FOREIGN: (
        "Somebody else's requests were on the server: the latencies are not ours alone.",
        "Measure on a server that nobody else uses.",
    ),
    Concern.NOT_DRAINED: (
        "Requests were still on the server after the cell, or of an earlier one before it.",
        "Wait until the server is idle and measure again.",
    ),
    Concern.CACHED: (
        "The prefix cache served more of the prompts than the contract lets it.",
        "Use another --seed, restart the server, or declare the sharing (--shared-prefix).",
    ),
    Concern.PERHAPS_CACHED: (
        "The prefix cache served more of the prompts than their texts seem to share.",
        "Restart the server before the cell, or turn its prefix cache off.",
    ),
    Concern.NETWORK: (
        "A good part of TTFT is the way to the server and back, not the server.",
        "Measure from a host beside the server, or state where the client stood.",
    ),
}

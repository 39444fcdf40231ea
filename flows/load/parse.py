"""From recorded bytes to requests, tokens, gaps and outcomes, after the run.

Token counts of single chunks come from the first source that there is:
`usage`      the server's running counts, when it sends usage in every chunk;
`tokenizer`  a counting function of the caller's;
`estimate`   the server's total, shared out by length of text;
`chunks`     one token per chunk, where the total says so or nothing says otherwise.
"""

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final, Literal

from flows.load.answer import Answer, error_of_body, read_body, read_events
from flows.load.outcome import Outcome, judge
from flows.load.plan import Dialect
from flows.load.raw import RawRequest, RawRun
from flows.load.sse import events

TokenSource = Literal["usage", "tokenizer", "estimate", "chunks"]
TokenCount = Callable[[str], int]

_BLANK: Final = b" \t\r\n\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """What one recorded answer said; times are monotonic nanoseconds, None is unknown.

    There is one `stamps_ns` and one `chunk_tokens` per output chunk. `output_tokens` is
    what the server's usage says, `output_chunks` what arrived, `output_tokenized` what
    the caller's tokenizer counts in the whole text.
    """

    outcome: Outcome
    error: str
    stamps_ns: list[int]
    chunk_tokens: list[float]
    chunk_tokens_source: TokenSource | None
    first_answer_ns: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    output_chunks: int
    output_tokenized: int | None
    reasoning_tokens: int | None
    finish_reason: str | None


def parse_request(
    raw: RawRequest, dialect: Dialect, count_tokens: TokenCount | None = None
) -> ParsedRequest:
    """Return what the recorded bytes of one request say."""
    answer = _answer(raw, dialect)
    outcome, error = judge(raw, answer)
    chunk_tokens, source = _chunk_tokens(answer, count_tokens)
    text = "".join(answer.texts) if count_tokens else ""
    return ParsedRequest(
        outcome=outcome,
        error=error,
        stamps_ns=answer.stamps_ns,
        chunk_tokens=chunk_tokens,
        chunk_tokens_source=source,
        first_answer_ns=answer.first_answer_ns,
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        output_tokens=answer.output_tokens,
        output_chunks=len(answer.stamps_ns),
        output_tokenized=count_tokens(text) if count_tokens and text else None,
        reasoning_tokens=answer.reasoning_tokens,
        finish_reason=answer.finish_reason,
    )


def _answer(raw: RawRequest, dialect: Dialect) -> Answer:
    if raw.status is not None and not 200 <= raw.status < 300:
        answer = Answer(dialect=dialect)
        body = b"".join(raw.fragments)
        if body:
            answer.fail(error_of_body(body))
        return answer
    if raw.fragments and _starts_document(raw.fragments):
        if raw.outcome != "complete":
            return Answer(dialect=dialect)
        return read_body(b"".join(raw.fragments), raw.stamps_ns[-1], dialect)
    return read_events(events(raw.fragments, raw.stamps_ns), dialect)


def _starts_document(fragments: Iterable[bytes]) -> bool:
    """True for one JSON document; no line of an event stream starts with its brackets."""
    for fragment in fragments:
        start = fragment.lstrip(_BLANK)
        if start:
            return start.startswith((b"{", b"["))
    return False


def _chunk_tokens(
    answer: Answer, count_tokens: TokenCount | None
) -> tuple[list[float], TokenSource | None]:
    """Tokens of each output chunk, and where the counts come from."""
    chunks = len(answer.stamps_ns)
    if not chunks:
        return [], None
    by_usage = _running_counts(answer)
    if by_usage is not None:
        return by_usage, "usage"
    if count_tokens is not None:
        return [float(count_tokens(text)) for text in answer.texts], "tokenizer"
    if answer.output_tokens is None or answer.output_tokens == chunks:
        return [1.0] * chunks, "chunks"
    characters = sum(map(len, answer.texts))
    if not characters:
        return [answer.output_tokens / chunks] * chunks, "estimate"
    per_character = answer.output_tokens / characters
    return [per_character * len(text) for text in answer.texts], "estimate"


def _running_counts(answer: Answer) -> list[float] | None:
    """Tokens of each chunk by the server's running counts; None where they do not run."""
    totals = [total for total in answer.totals if total is not None]
    if len(totals) < len(answer.totals):
        return None
    counts = [float(after - before) for before, after in pairwise((0, *totals))]
    is_running = (
        totals[-1] > totals[0] if len(totals) > 1 else totals[0] == answer.output_tokens
    )
    return counts if is_running and min(counts) >= 0 else None


@dataclass(slots=True, kw_only=True)
class Columns:
    """The requests of one run, column by column, in the plan's order.

    One list entry per request; times are monotonic nanoseconds, None is unknown. The
    `gap_us` of request i (microseconds between its output chunks) are those from
    `gap_offsets[i]` to `gap_offsets[i + 1]`, its `chunk_tokens` likewise. The field names
    are those of the request records.
    """

    sequence: list[int] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    session: list[int] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    endpoint: list[int] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)
    scheduled_ns: list[int | None] = field(default_factory=list)
    slot_free_ns: list[int | None] = field(default_factory=list)
    sent_ns: list[int | None] = field(default_factory=list)
    first_byte_ns: list[int | None] = field(default_factory=list)
    first_token_ns: list[int | None] = field(default_factory=list)
    first_answer_ns: list[int | None] = field(default_factory=list)
    last_token_ns: list[int | None] = field(default_factory=list)
    done_ns: list[int | None] = field(default_factory=list)
    prompt_tokens_asked: list[int | None] = field(default_factory=list)
    prompt_tokens: list[int | None] = field(default_factory=list)
    cached_tokens: list[int | None] = field(default_factory=list)
    output_tokens_asked: list[int] = field(default_factory=list)
    output_tokens: list[int | None] = field(default_factory=list)
    output_chunks: list[int] = field(default_factory=list)
    output_tokenized: list[int | None] = field(default_factory=list)
    reasoning_tokens: list[int | None] = field(default_factory=list)
    chunk_tokens_source: list[str | None] = field(default_factory=list)
    finish_reason: list[str | None] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    error: list[str] = field(default_factory=list)
    http_status: list[int | None] = field(default_factory=list)
    reused: list[bool] = field(default_factory=list)
    reconnected: list[bool] = field(default_factory=list)
    gap_us: "array[float]" = field(default_factory=lambda: array("f"))
    gap_offsets: "array[int]" = field(default_factory=lambda: array("q", [0]))
    chunk_tokens: "array[float]" = field(default_factory=lambda: array("f"))
    chunk_offsets: "array[int]" = field(default_factory=lambda: array("q", [0]))

    def add(self, raw: RawRequest, parsed: ParsedRequest) -> None:
        """Append one request with what its answer said."""
        for name in _COPIED:
            getattr(self, name).append(getattr(raw, name))
        for name in _PARSED:
            getattr(self, name).append(getattr(parsed, name))
        stamps_ns = parsed.stamps_ns
        self.prompt.append(raw.prompt_id)
        self.prompt_tokens_asked.append(raw.prompt_tokens)
        self.output_tokens_asked.append(raw.output_tokens)
        self.http_status.append(raw.status)
        self.first_token_ns.append(stamps_ns[0] if stamps_ns else None)
        self.last_token_ns.append(stamps_ns[-1] if stamps_ns else None)
        self.gap_us.extend([(after - before) / 1000 for before, after in pairwise(stamps_ns)])
        self.gap_offsets.append(len(self.gap_us))
        self.chunk_tokens.extend(parsed.chunk_tokens)
        self.chunk_offsets.append(len(self.chunk_tokens))

    def lists(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {column.name: getattr(self, column.name) for column in fields(self)}


_NAMES: Final = {column.name for column in fields(Columns)}
_COPIED: Final = tuple(
    column.name
    for column in fields(RawRequest)
    if column.name in _NAMES
    and column.name not in ("prompt_tokens", "output_tokens", "outcome", "error")
)
_PARSED: Final = tuple(
    column.name
    for column in fields(ParsedRequest)
    if column.name in _NAMES and column.name != "chunk_tokens"
)


def parse_run(raw: RawRun, count_tokens: TokenCount | None = None) -> Columns:
    """Return the request columns of a recorded run."""
    columns = Columns()
    dialect: Dialect = raw.header["dialect"]
    for request in raw.requests:
        columns.add(request, parse_request(request, dialect, count_tokens))
    return columns

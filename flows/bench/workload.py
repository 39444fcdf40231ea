"""What is asked, request by request: synthetic prompts, a trace's, or recorded sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.bench.lengths import sample
from flows.bench.probe import Survey
from flows.bench.spec import CellSpec
from flows.errors import UsageError
from flows.load.datasets import Session, Turn, read_dataset
from flows.load.draws import Purpose, generator
from flows.load.prompts import BLOCK_TOKENS, PromptSource, messages_json
from flows.load.traces import TraceRow, read_trace

TokenCount = Callable[[str], int]
_DEFAULT_OUTPUT_TOKENS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One request without its time.

    ``shared_tokens`` of the prompt have been sent before, as prefix or block (None: not
    known in tokens); ``prompt_json`` is what the body carries.
    """

    session: int
    turn: int
    think_ns: int
    prompt_tokens: int | None
    shared_tokens: int | None
    output_tokens: int
    prompt_json: str


def items(
    spec: CellSpec,
    survey: Survey,
    count: int,
    rows: Sequence[TraceRow],
    count_tokens: TokenCount | None,
) -> Iterator[Item]:
    """``count`` requests (sessions, where time is measured), fewer if a file holds fewer."""
    if spec.content.dataset is not None:
        return _recorded(spec, survey, count, spec.content.dataset, count_tokens)
    if rows:
        return _traced(spec, survey, rows[:count])
    return _synthetic(spec, survey, count)


def trace_rows(path: Path) -> tuple[TraceRow, ...]:
    """The requests of a trace; raises UsageError where the file cannot be used."""
    try:
        return read_trace(path)
    except OSError as error:
        raise UsageError(
            f"--trace {path}", str(error.strerror), "Give a readable file"
        ) from None
    except ValueError as error:
        raise UsageError("--trace", str(error), "") from None


def _source(spec: CellSpec, survey: Survey) -> PromptSource:
    return PromptSource(alphabet=survey.alphabet, seed=spec.seed, replication=spec.replication)


def _output_lengths(spec: CellSpec, count: int) -> list[int]:
    if spec.content.output is None:
        return [_DEFAULT_OUTPUT_TOKENS] * count
    rng = generator(spec.seed, spec.replication, Purpose.OUTPUT_LENGTHS)
    warmup = spec.amount.discarded(spec.load)
    return sample(spec.content.output, count, spread_over=warmup, rng=rng)


def _synthetic(spec: CellSpec, survey: Survey, count: int) -> Iterator[Item]:
    rng = generator(spec.seed, spec.replication, Purpose.PROMPT_LENGTHS)
    warmup = spec.amount.discarded(spec.load)
    lengths = sample(spec.content.prompt, count, spread_over=warmup, rng=rng)
    source, shared = _source(spec, survey), spec.content.shared
    around = round(survey.overhead_tokens)  # a template stands around every prompt
    pairs = zip(lengths, _output_lengths(spec, count), strict=True)
    for number, (prompt, output) in enumerate(pairs):
        symbols = survey.symbols(prompt)
        common = min(survey.symbols(shared.of(prompt)), symbols - 1) if shared else 0
        yield Item(
            session=number,
            turn=0,
            think_ns=0,
            prompt_tokens=prompt,
            shared_tokens=min(prompt, max(around, shared.of(prompt) if shared else 0)),
            output_tokens=output,
            prompt_json=survey.alphabet.written(source.draw(symbols, common)),
        )


def _traced(spec: CellSpec, survey: Survey, rows: Sequence[TraceRow]) -> Iterator[Item]:
    source, known = _source(spec, survey), set[int]()
    around = round(survey.overhead_tokens)
    lengths = _output_lengths(spec, len(rows)) if spec.content.output else None
    for number, row in enumerate(rows):
        symbols = survey.symbols(row.prompt_tokens)
        fresh = next((i for i, block in enumerate(row.blocks) if block not in known), None)
        seen = len(row.blocks) if fresh is None else fresh
        known.update(row.blocks)
        yield Item(
            session=number,
            turn=0,
            think_ns=0,
            prompt_tokens=row.prompt_tokens,
            shared_tokens=min(around + seen * BLOCK_TOKENS, row.prompt_tokens),
            output_tokens=lengths[number] if lengths else row.output_tokens,
            prompt_json=survey.alphabet.written(source.draw_blocks(symbols, row.blocks)),
        )


def _recorded(
    spec: CellSpec,
    survey: Survey,
    count: int,
    path: Path,
    count_tokens: TokenCount | None,
) -> Iterator[Item]:
    sessions = _slice(spec, _sessions(path), count)
    outputs = iter(_output_lengths(spec, sum(len(session.turns) for session in sessions)))
    for number, session in enumerate(sessions):
        for index, turn in enumerate(session.turns):
            text = session.text(index)
            tokens = _asked(spec, survey, text, count_tokens)
            think_ms = spec.content.think_ms if turn.think_ms is None else turn.think_ms
            drawn = next(outputs)
            yield Item(
                session=number,
                turn=index,
                think_ns=round(think_ms * 1e6) if index else 0,
                prompt_tokens=tokens,
                shared_tokens=None,
                output_tokens=_answer_length(spec, turn, drawn, count_tokens),
                prompt_json=_prompt_json(spec, session, index, text),
            )


def _prompt_json(spec: CellSpec, session: Session, turn: int, text: str) -> str:
    if spec.target.dialect == "chat":
        return messages_json(session.messages(turn))
    return json.dumps(text, ensure_ascii=False)


def _asked(
    spec: CellSpec, survey: Survey, text: str, count_tokens: TokenCount | None
) -> int | None:
    """Tokens that the server should count; unknown without a tokenizer or in a template."""
    if count_tokens is None or spec.target.dialect == "chat":
        return None
    return count_tokens(text) + round(survey.overhead_tokens)


def _answer_length(
    spec: CellSpec, turn: Turn, drawn: int, count_tokens: TokenCount | None
) -> int:
    """--output-tokens if given, else what was recorded, else 128."""
    if spec.content.output is not None:
        return drawn
    if turn.output_tokens is not None:
        return turn.output_tokens
    if count_tokens is not None and turn.answer:
        return max(count_tokens(turn.answer), 1)
    return drawn


def _sessions(path: Path) -> tuple[Session, ...]:
    try:
        return read_dataset(path)
    except OSError as error:
        raise UsageError(
            f"--dataset {path}", str(error.strerror), "Give a readable file"
        ) from None
    except ValueError as error:
        raise UsageError("--dataset", str(error), "") from None


def _slice(spec: CellSpec, sessions: tuple[Session, ...], count: int) -> list[Session]:
    """This replication's sessions: shuffled once by the seed, none used twice."""
    order = generator(spec.seed, 0, Purpose.DATASET_ORDER).permutation(len(sessions)).tolist()
    taken, found, skip = list[Session](), 0, spec.replication * count
    for index in order:
        worth = len(sessions[index].turns) if spec.amount.duration_s is None else 1
        if skip > 0:
            skip -= worth
        elif found < count:
            taken.append(sessions[index])
            found += worth
    return taken

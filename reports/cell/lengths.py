"""Prompt and output lengths as asked and as the server counted them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from reports.cell.latency import output_tokens
from reports.cell.problems import Concern, Problem
from reports.cell.settings import CellSettings
from reports.columns import NULL, Reals, RequestColumns, known

Source = Literal["usage", "tokenizer", "chunks", "mixed", "none"]

_MISS: Final = 0.01
_DISAGREEMENT: Final = 0.01
_ENDED_BY_ITSELF: Final = ("stop", "eos", "eos_token", "stop_sequence", "end_turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Smallest, mean and largest of the lengths in tokens; None without any."""

    low: float | None
    mean: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Lengths of the successful measured requests, as asked and as seen.

    `miss` is the relative difference of the totals, `missed_share` the share of requests
    off by more than a hundredth; None where nobody counted tokens.
    """

    asked: Spread
    seen: Spread
    source: Source
    miss: float | None
    missed_share: float | None

    @property
    def is_missed(self) -> bool:
        """True where the cell was of another length than it says."""
        return (self.miss or 0.0) > _MISS or (self.missed_share or 0.0) > _MISS


def prompt_lengths(ok: RequestColumns) -> Lengths:
    """Return the prompt lengths, by the server's usage."""
    return _lengths(known(ok.prompt_tokens_asked), known(ok.prompt_tokens), "usage")


def output_lengths(ok: RequestColumns) -> Lengths:
    """Return the output lengths, by the server's usage or else a tokenizer."""
    source = output_source(ok)
    seen = output_tokens(ok)
    seen[(ok.output_tokens == NULL) & (ok.output_tokenized == NULL)] = np.nan
    return _lengths(known(ok.output_tokens_asked), seen, source)


def output_source(ok: RequestColumns) -> Source:
    """Return where the output token counts come from."""
    by_usage = ok.output_tokens != NULL
    by_tokenizer = ~by_usage & (ok.output_tokenized != NULL)
    used = {
        "usage": by_usage.any(),
        "tokenizer": by_tokenizer.any(),
        "chunks": (~by_usage & ~by_tokenizer).any(),
    }
    sources: list[Source] = [name for name in ("usage", "tokenizer", "chunks") if used[name]]
    return "mixed" if len(sources) > 1 else sources[0] if sources else "none"


def _lengths(asked: Reals, seen: Reals, source: Source) -> Lengths:
    both = np.isfinite(asked) & np.isfinite(seen)
    total = float(asked[both].sum())
    off = np.abs(seen[both] - asked[both]) > _MISS * asked[both]
    return Lengths(
        asked=_spread(asked),
        seen=_spread(seen),
        source=source if np.isfinite(seen).any() else "none",
        miss=abs(float(seen[both].sum()) - total) / total if total else None,
        missed_share=float(off.mean()) if both.any() else None,
    )


def _spread(tokens: Reals) -> Spread:
    there = tokens[np.isfinite(tokens)]
    if not len(there):
        return Spread(low=None, mean=None, high=None)
    return Spread(low=float(there.min()), mean=float(there.mean()), high=float(there.max()))


def length_problems(
    prompt: Lengths, output: Lengths, ok: RequestColumns, settings: CellSettings
) -> Iterator[Problem]:
    """Whether prompts and answers were as long as asked, and whether that can be told."""
    if prompt.is_missed:
        yield Problem(concern=Concern.PROMPT_LENGTH, seen=_miss_sentence(prompt))
    if output.is_missed and settings.output == "forced":
        yield Problem(concern=Concern.OUTPUT_LENGTH, seen=_miss_sentence(output))
    uncounted = (ok.output_tokens == NULL) & (ok.output_tokenized == NULL)
    if uncounted.any():
        seen = (
            f"{int(uncounted.sum())} answers came without usage; their length is not verified"
        )
        yield Problem(concern=Concern.NO_USAGE, seen=seen)
        yield from _self_ended(ok.where(uncounted), len(ok), settings)
    yield from _disagreement(ok)


def _self_ended(
    uncounted: RequestColumns, answers: int, settings: CellSettings
) -> Iterator[Problem]:
    """Whether answers that nobody counted say themselves that they stopped before the end."""
    short = np.isin(uncounted.finish_reason, _ENDED_BY_ITSELF)
    short &= uncounted.output_chunks < uncounted.output_tokens_asked
    count = int(short.sum())
    if settings.output == "forced" and count > _MISS * answers:
        reasons = ", ".join(sorted(set(uncounted.finish_reason[short])))
        yield Problem(
            concern=Concern.OUTPUT_LENGTH,
            seen=(
                f"{count} of {answers} answers ended by themselves (finish reason {reasons})"
                " with fewer chunks than tokens asked, and without usage"
            ),
        )


def _miss_sentence(lengths: Lengths) -> str:
    return (
        f"asked {lengths.asked.mean:.6g} tokens in the mean, got {lengths.seen.mean:.6g};"
        f" {lengths.missed_share:.1%} of the requests are off by more than {_MISS:.0%}"
    )


def _disagreement(ok: RequestColumns) -> Iterator[Problem]:
    """Whether the server counts other tokens than the tokenizer or than its own chunks show."""
    by_usage = ok.output_tokens != NULL
    for name, counted in (("tokenizer", ok.output_tokenized), ("chunks", ok.output_chunks)):
        both = by_usage & (counted != NULL)
        reported, seen = int(ok.output_tokens[both].sum()), int(counted[both].sum())
        # Fewer chunks than tokens is how several tokens per chunk look: no disagreement.
        is_off = abs(seen - reported) if name == "tokenizer" else seen - reported
        if is_off > _DISAGREEMENT * reported:
            yield Problem(
                concern=Concern.COUNTS,
                seen=f"usage says {reported} output tokens, by {name} it is {seen}",
            )

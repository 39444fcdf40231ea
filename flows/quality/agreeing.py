"""The fixed set, answered: by the reference twice, by a candidate once.

Each prompt is answered freely. Then the reference's first answer is forced upon everybody:
the next token and its likeliest rivals are asked for after the first tokens of it, so that
all speak of the same text however early their own answers part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from catalog.fixed_prompts import Prompt
from flows.quality.answering import Server, continued, greedy
from reports.quality.tables import Answer, Who

DEPTHS: Final = (8,)  # tokens of the reference's answer that are forced, beside none


def reference_answers(
    server: Server,
    prompts: Sequence[Prompt],
    *,
    answer_tokens: int,
    streams: int,
    look: Callable[[], None],
) -> tuple[Answer, ...]:
    """What the reference answers, and answers again: the second time is its noise floor."""
    free = partial(
        _free, server, prompts, answer_tokens=answer_tokens, streams=streams, look=look
    )
    forced = partial(_forced, server, prompts, streams=streams, look=look)
    first = free("reference")
    own = tuple(each.tokens for each in first)
    return (
        *first,
        *forced(own, "reference"),
        *free("again"),
        *forced(own, "again"),
    )


def candidate_answers(
    server: Server,
    prompts: Sequence[Prompt],
    reference: Sequence[Answer],
    *,
    answer_tokens: int,
    streams: int,
    look: Callable[[], None],
) -> tuple[Answer, ...]:
    """What a candidate answers to the same prompts, freely and forced."""
    theirs = {
        each.prompt: each.tokens
        for each in reference
        if each.who == "reference" and each.depth == 0
    }
    own = tuple(theirs.get(number, ()) for number in range(len(prompts)))
    return (
        *_free(
            server,
            prompts,
            "candidate",
            answer_tokens=answer_tokens,
            streams=streams,
            look=look,
        ),
        *_forced(server, prompts, own, "candidate", streams=streams, look=look),
    )


def _free(
    server: Server,
    prompts: Sequence[Prompt],
    who: Who,
    *,
    answer_tokens: int,
    streams: int,
    look: Callable[[], None],
) -> tuple[Answer, ...]:
    found = greedy(server, prompts, tokens=answer_tokens, streams=streams, look=look)
    return tuple(
        Answer(who=who, prompt=number, depth=0, tokens=each.tokens, top=dict(each.top))
        for number, each in enumerate(found)
    )


def _forced(
    server: Server,
    prompts: Sequence[Prompt],
    own: Sequence[tuple[str, ...]],
    who: Who,
    *,
    streams: int,
    look: Callable[[], None],
) -> tuple[Answer, ...]:
    places = [
        (number, depth)
        for depth in DEPTHS
        for number, tokens in enumerate(own)
        if len(tokens) >= depth
    ]
    asked = [continued(prompts[number], own[number][:depth]) for number, depth in places]
    found = greedy(server, asked, tokens=1, streams=streams, look=look)
    return tuple(
        Answer(who=who, prompt=number, depth=depth, tokens=each.tokens, top=dict(each.top))
        for (number, depth), each in zip(places, found, strict=True)
    )

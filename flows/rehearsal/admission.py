"""A generation request from its bytes to sequences in the engine, or to a rehearsed refusal."""

from __future__ import annotations

import asyncio
import math
import os
import random
import time
from dataclasses import dataclass
from http import HTTPStatus

from flows.rehearsal.answer import Choice, Order
from flows.rehearsal.api import (
    ApiError,
    Generation,
    Kind,
    Prompt,
    PromptRules,
    error_body,
    parse_generation,
)
from flows.rehearsal.connection import Connection, Request
from flows.rehearsal.dialects import Envelope
from flows.rehearsal.engine import Engine
from flows.rehearsal.rules import Failure
from flows.rehearsal.scheduler import Sequence
from flows.rehearsal.settings import Settings, shaped
from flows.rehearsal.streamed import StreamedAnswer
from flows.rehearsal.streamshape import StreamShape
from flows.rehearsal.truth import TrueRequest
from flows.rehearsal.whole import WholeAnswer
from flows.rehearsal.words import Words

IDENTS: dict[Kind, str] = {"completions": "cmpl", "chat": "chatcmpl"}
HTML_ERROR = b"<html><head><title>%d %b</title></head><body><h1>%b</h1></body></html>\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A request with its connection, its record and the headers that all answers carry."""

    connection: Connection
    request: Request
    record: TrueRequest
    headers: str


class Admission:
    """Numbers generation requests and turns each into an answer under way."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        truth: list[TrueRequest] | None,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._loop = loop
        self._truth = truth
        self._count = 0
        engine_settings = settings.engine
        self._prompt_rules = PromptRules(
            block_tokens=engine_settings.block_tokens if engine_settings.prefix_cache else 0,
            drift_tokens=settings.lengths.prompt_drift_tokens,
            chat_overhead_tokens=settings.lengths.chat_overhead_tokens,
        )

    def admit(self, kind: Kind, connection: Connection, request: Request, headers: str) -> None:
        """Begin the answer to one request; ApiError says why there is none."""
        record = self._record(kind, connection, request)
        if self._settings.lifecycle.die_after_requests == record.number:
            os._exit(self._settings.lifecycle.exit_code)
        arrival = Arrival(
            connection=connection, request=request, record=record, headers=headers
        )
        failure, shape = self._rehearsed(record)
        if failure is not None and failure.at_token is None:
            _refuse(failure, arrival)
            return
        try:
            generation = self._checked(kind, request)
            sequences = [self._sequence(generation, p, record) for p in generation.prompts]
        except ApiError as error:
            record.status, record.outcome = error.status, "refused"
            raise
        if failure is not None and failure.kind == "stop":
            _stop_at(sequences, failure.at_token or 1)
            failure = None
        _begin(self._order(generation, arrival, failure, shape), sequences)
        for sequence in sequences:
            self._engine.submit(sequence)

    def _record(self, kind: Kind, connection: Connection, request: Request) -> TrueRequest:
        number = self._count
        self._count += 1
        record = TrueRequest(
            number=number,
            ident=f"{IDENTS[kind]}-rehearsal-{number}",
            path=request.path,
            connection=connection.number,
            reused=request.number_on_connection > 0,
            first_byte_ns=request.first_byte_ns,
            arrived_ns=request.arrived_ns,
        )
        if self._truth is not None:
            self._truth.append(record)
        return record

    def _rehearsed(self, record: TrueRequest) -> tuple[Failure | None, StreamShape]:
        """First failure and all changes of shape that the rules have for this request."""
        failure, shape = None, self._settings.stream
        for place, rule in enumerate(self._settings.rules):
            seed = f"{self._settings.seed}/rule {place}"
            if rule.covers(record.number, reused=record.reused, seed=seed):
                failure = failure or rule.failure
                shape = shaped(shape, rule.stream, f"rules[{place}].stream")
        return failure, shape

    def _checked(self, kind: Kind, request: Request) -> Generation:
        generation = parse_generation(kind, request.body, self._prompt_rules)
        identity, engine = self._settings.identity, self._settings.engine
        if identity.other_models == "404" and generation.model != self._settings.model:
            raise ApiError(
                404,
                f"the model {generation.model!r} is not served here",
                param="model",
                code="model_not_found",
            )
        limit = engine.queue_limit
        if limit is not None and len(self._engine.scheduler.waiting) >= limit:
            raise ApiError(429, f"{limit} requests are waiting already", retry_after_s=1)
        return generation

    def _sequence(
        self, generation: Generation, prompt: Prompt, record: TrueRequest
    ) -> Sequence:
        limit = self._settings.engine.context_limit
        room = limit - prompt.tokens
        if room < 1 or (generation.max_tokens or 1) > room:
            asked = prompt.tokens + (generation.max_tokens or 1)
            raise ApiError(
                400,
                f"{asked} tokens are asked for, at most {limit} are possible: shorten the "
                f"prompt ({prompt.tokens} tokens) or max_tokens",
                code="context_length_exceeded",
            )
        tokens, reason = self._output_tokens(generation, prompt, room)
        record.prompt_tokens += prompt.tokens
        return Sequence(
            number=record.number,
            prompt_tokens=prompt.tokens,
            output_tokens=tokens,
            arrived_ns=record.arrived_ns,
            block_hashes=prompt.block_hashes,
            finish_reason=reason,
        )

    def _output_tokens(
        self, generation: Generation, prompt: Prompt, room: int
    ) -> tuple[int, str]:
        """Tokens that the answer will have, and whether it ends by length or by itself."""
        lengths = self._settings.lengths
        tokens, reason = generation.max_tokens or room, "length"
        if lengths.natural_tokens is not None and not generation.ignore_eos:
            rng = random.Random(f"{self._settings.seed}/length/{prompt.checksum}")  # noqa: S311
            drawn = rng.lognormvariate(math.log(lengths.natural_tokens), lengths.natural_spread)
            if drawn < tokens:
                tokens, reason = max(1, round(drawn)), "stop"
        return min(room, max(1, tokens + lengths.output_miss_tokens)), reason

    def _order(
        self,
        generation: Generation,
        arrival: Arrival,
        failure: Failure | None,
        shape: StreamShape,
    ) -> Order:
        manners = self._settings.connection
        promises = arrival.request.keep_alive and manners.keep_alive
        closes = not promises or (generation.stream and manners.close_after_stream)
        promise = "keep-alive" if promises else "close"
        return Order(
            loop=self._loop,
            connection=arrival.connection,
            generation=generation,
            envelope=Envelope(
                kind=generation.kind,
                ident=arrival.record.ident,
                created=int(time.time()),
                model=self._settings.model,
            ),
            shape=shape,
            wire=self._settings.wire,
            failure=failure,
            headers=f"{arrival.headers}connection: {promise}\r\n",
            closes=closes,
            record=arrival.record,
            abort=self._engine.abort,
            abandon=self._engine.abandon,
            reports_cache=self._settings.engine.prefix_cache,
        )


def _begin(order: Order, sequences: list[Sequence]) -> None:
    """Make the answer that will receive these sequences' tokens."""
    generation = order.generation
    choices = [
        Choice(
            index=index,
            sequence=sequence,
            words=Words.of(order.shape, _text_seed(generation, prompt, order.record.number)),
        )
        for index, (sequence, prompt) in enumerate(
            zip(sequences, generation.prompts, strict=True)
        )
    ]
    if generation.stream:
        StreamedAnswer(order, choices)
    else:
        WholeAnswer(order, choices)


def _text_seed(generation: Generation, prompt: Prompt, number: int) -> int:
    """Greedy answers depend on the prompt alone, seeded ones also on the seed."""
    if generation.temperature == 0:
        return prompt.checksum
    varied = number if generation.seed is None else generation.seed
    return prompt.checksum ^ (varied * 2654435761 & 0xFFFFFFFF)


def _stop_at(sequences: list[Sequence], tokens: int) -> None:
    for sequence in sequences:
        if tokens < sequence.output_tokens:
            sequence.output_tokens, sequence.finish_reason = tokens, "stop"


def _refuse(failure: Failure, arrival: Arrival) -> None:
    """Do what a failure without any answer does."""
    arrival.record.outcome = failure.kind
    if failure.kind == "reset":
        arrival.connection.reset()
    elif failure.kind == "close":
        arrival.connection.close()
    elif failure.kind == "status":
        arrival.record.status = failure.status
        arrival.connection.send(_error_answer(failure, arrival))
        arrival.connection.finished(close=not arrival.request.keep_alive)


def _error_answer(failure: Failure, arrival: Arrival) -> bytes:
    phrase = HTTPStatus(failure.status).phrase
    name = phrase.encode()
    bodies = {
        "json": error_body(failure.status, failure.message, code=str(failure.status)),
        "html": HTML_ERROR % (failure.status, name, name),
        "empty": b"",
    }
    body = bodies[failure.body]
    kind = "text/html" if failure.body == "html" else "application/json"
    retry = "" if failure.retry_after_s is None else f"retry-after: {failure.retry_after_s}\r\n"
    keeps = "keep-alive" if arrival.request.keep_alive else "close"
    head = (
        f"HTTP/1.1 {failure.status} {phrase}\r\n{arrival.headers}{retry}connection: {keeps}\r\n"
        f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("latin-1") + body

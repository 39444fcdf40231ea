"""What one request before the clock tells: whether the server answers, how it counts.

A prompt of n symbols comes back as ``usage.prompt_tokens`` = overhead + n x (tokens per
symbol). The overhead is the chat template's, or a token that the server puts in front.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any, Final

from flows.bench.http import Answer, post
from flows.bench.masking import masked
from flows.bench.refusal import explain
from flows.bench.spec import CellSpec
from flows.collect.source import SIMULATED
from flows.errors import InfrastructureError
from flows.load.address import shown
from flows.load.plan import Endpoint
from flows.load.prompts import Alphabet, BodyForm, PromptSource, token_ids, words

PROBE_REPLICATION: Final = 1023  # numbers of its prompts are no cell's
_SHORT: Final = 24
_LONG: Final = 280
# Ordinary tokens of every large vocabulary; then of a tiny one, as test models have.
_TOKEN_RANGES: Final = ((1000, 10_999), (32, 159))
_MOST_ADDED: Final = 8  # more than this around token ids means they were taken for text


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """How prompts must be written so that the server counts what was asked.

    ``counts`` is False where the server reported no usage: lengths are then as sent.
    ``single_s`` is how long one whole request took alone, where that was asked for.
    ``is_simulation``: an endpoint says that it is the rehearsal engine.
    """

    alphabet: Alphabet
    overhead_tokens: float = 0.0
    tokens_per_symbol: float = 1.0
    counts: bool = True
    single_s: float | None = None
    is_simulation: bool = False

    def symbols(self, prompt_tokens: int) -> int:
        """Symbols whose prompt the server counts as ``prompt_tokens``; at least one."""
        return max(1, round((prompt_tokens - self.overhead_tokens) / self.tokens_per_symbol))


def survey(spec: CellSpec) -> Survey:
    """Ask every endpoint once; raises InfrastructureError where one cannot be measured."""
    first, *others = spec.target.endpoints
    form = BodyForm(
        dialect=spec.target.dialect,
        model=spec.target.model,
        temperature=spec.temperature,
        seed=spec.seed,
        forced=spec.content.forced,
        stream=False,
    )
    found = _fitting(spec, form, first)
    source = PromptSource(
        alphabet=found.alphabet, seed=spec.seed + 1, replication=PROBE_REPLICATION
    )
    for endpoint in others:
        if _is_simulated(_sent(spec, form, endpoint, source, _SHORT)):
            found = replace(found, is_simulation=True)
    if spec.load.process == "closed" and spec.amount.duration_s is not None:
        return _timed(spec, form, first, source, found)
    return found


def _fitting(spec: CellSpec, form: BodyForm, endpoint: Endpoint) -> Survey:
    """The first alphabet that the endpoint takes, and how it counts it."""
    choices = [words()]
    if form.dialect == "completions" and spec.content.dataset is None:
        choices = [*(token_ids(*span) for span in _TOKEN_RANGES), words()]
    for alphabet in choices:
        source = PromptSource(alphabet=alphabet, seed=spec.seed, replication=PROBE_REPLICATION)
        is_last = alphabet is choices[-1]
        short = _sent(spec, form, endpoint, source, _SHORT, may_refuse=not is_last)
        if short is None:
            continue
        counted = _prompt_tokens(short, endpoint)
        if counted is None:
            found = Survey(alphabet=alphabet, counts=False)
        elif is_last:
            found = _sloped(spec, form, endpoint, source, counted)
        elif 0 <= counted - _SHORT <= _MOST_ADDED:
            found = Survey(alphabet=alphabet, overhead_tokens=counted - _SHORT)
        else:
            continue
        return replace(found, is_simulation=_is_simulated(short))
    raise AssertionError("the last alphabet is answered or raises")


def _sloped(
    spec: CellSpec, form: BodyForm, endpoint: Endpoint, source: PromptSource, short: int
) -> Survey:
    """Words need two lengths: what each costs, and what stands around them."""
    answer = _sent(spec, form, endpoint, source, _LONG)
    long = _prompt_tokens(answer, endpoint) if answer else None
    slope = ((long or short) - short) / (_LONG - _SHORT)
    if slope <= 0:
        return Survey(alphabet=source.alphabet, counts=False)
    return Survey(
        alphabet=source.alphabet,
        overhead_tokens=short - _SHORT * slope,
        tokens_per_symbol=slope,
    )


def _timed(
    spec: CellSpec, form: BodyForm, endpoint: Endpoint, source: PromptSource, found: Survey
) -> Survey:
    """One whole request alone: no request of the loop can be much faster."""
    lengths = spec.content
    output = round(lengths.output.mean()) if lengths.output else 1
    prompt = found.symbols(round(lengths.prompt.mean()))
    started_s = time.monotonic()
    _sent(spec, form, endpoint, source, prompt, output_tokens=output)
    return replace(found, single_s=time.monotonic() - started_s)


def _sent(
    spec: CellSpec,
    form: BodyForm,
    endpoint: Endpoint,
    source: PromptSource,
    symbols: int,
    *,
    output_tokens: int = 1,
    may_refuse: bool = False,
) -> Answer | None:
    """The answer to one probe; None if the prompt's form was refused and may be."""
    prompt = source.alphabet.written(source.draw(symbols))
    answer = post(endpoint, form.body(prompt, output_tokens), spec.timeout_s)
    if answer.status == 200:
        return answer
    refusal = explain(answer, endpoint, spec.target.model)
    if may_refuse and refusal.is_about_body:
        return None
    raise refusal.error


def _is_simulated(answer: Answer | None) -> bool:
    return answer is not None and SIMULATED in answer.headers


def _prompt_tokens(answer: Answer, endpoint: Endpoint) -> int | None:
    try:
        body: Any = json.loads(answer.body)
    except ValueError:
        raise InfrastructureError(
            shown(endpoint.url),
            f"its answer is not JSON: {masked(answer.text, [endpoint])[:80]!r}",
            "Check that the address is that of an OpenAI-compatible server",
        ) from None
    usage = body.get("usage") if isinstance(body, dict) else None
    counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return counted if isinstance(counted, int) and counted > 0 else None

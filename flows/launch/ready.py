"""Ready means: a healthy answer, the model listed by its name, and one generated token.

A green health page alone is not: engines show it before the model answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from deploy_templates.plan import LaunchPlan
from flows.bench.http import Answer
from flows.errors import LaunchError
from flows.launch.ask import Address, Ask, NoAnswerError, json_of
from flows.launch.clock import Clock

_LONGEST_PAUSE_NS: Final = 1_000_000_000
_PAUSE_SHARE: Final = 50  # so that asking adds at most 2% to the time of a start
_PATIENCE_NS: Final = 10_000_000_000  # for a health page or a list; a token may take long
_PROMPTS: Final = ("Hello", "One two three", "The answer is")  # one may end at once
_FOR_LATER: Final = (404, 408, 409, 425, 429)  # a server that still loads may say these
_SHOWN: Final = 200
_OK: Final = 200
_SERVER_ERROR: Final = 500
_TOKEN: Final = 2  # health is step 0, the list of models step 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """The first answer: the model's name in it, its counts, what the engine signs with."""

    model: str | None
    prompt_tokens: int | None
    completion_tokens: int
    system_fingerprint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What showed that the server is ready."""

    models: tuple[str, ...]
    first_token: FirstToken


class _NotYetError(Exception):
    """An answer that may get better by waiting; its text says what it was."""


class Probe:
    """Asks for health, then for the models, then for one token, until all three are right.

    ``require_ours`` is called with the first connection of each round, before anything is
    sent, and raises where the port is not our server's. Between rounds that were in vain lies
    a fiftieth of the time that has passed, at most a second.
    """

    def __init__(
        self,
        plan: LaunchPlan,
        address: Address,
        require_ours: Callable[[], object],
        started_ns: int,
    ) -> None:
        self.seen = "nothing was asked yet"
        self._plan = plan
        self._address = address
        self._require_ours = require_ours
        self._started_ns = started_ns
        self._steps = (self._health, self._models, self._token)
        self._step = 0
        self._ask: Ask | None = None
        self._asked_ns = 0
        self._not_before_ns = 0
        self._attempts = 0
        self._listed: tuple[str, ...] = ()

    def look(self, now_ns: int) -> Ready | None:
        """Go on asking; the proof once the token has come.

        Raises
        ------
        LaunchError
            For an answer that will not get better by waiting.
        """
        try:
            if self._ask is None and now_ns >= self._not_before_ns:
                self._ask_next(now_ns)
            answer = None if self._ask is None else self._answer(self._ask, now_ns)
            while answer is not None:
                ready = self._judged(answer)
                if ready is not None:
                    return ready
                answer = self._ask_next(now_ns)
        except _NotYetError as error:
            self._later(str(error), now_ns)
        except NoAnswerError as error:
            self._later(f"{self._path}: {error}", now_ns)
        return None

    def pause(self, clock: Clock, longest_s: float) -> None:
        """Wait for the answer under way, at most so long; so long where none is."""
        if self._ask is None:
            clock.sleep(longest_s)
        else:
            self._ask.wait(longest_s)

    def close(self) -> None:
        """Stop asking."""
        if self._ask is not None:
            self._ask.close()
            self._ask = None

    @property
    def _path(self) -> str:
        readiness = self._plan.readiness
        return (self._plan.health.path, readiness.models_path, readiness.completion_path)[
            self._step
        ]

    def _ask_next(self, now_ns: int) -> Answer | None:
        """Ask what is to be asked now; the answer if it is there at once."""
        self._ask, self._asked_ns = Ask(self._address), now_ns
        if self._step == 0:
            self._require_ours()
        self._ask.send(self._path, self._body() if self._step == _TOKEN else None)
        return self._answer(self._ask, now_ns)

    def _answer(self, ask: Ask, now_ns: int) -> Answer | None:
        answer = ask.answer()
        if answer is not None:
            self.close()
        elif self._step < _TOKEN and now_ns - self._asked_ns > _PATIENCE_NS:
            raise NoAnswerError(f"no answer within {_PATIENCE_NS / 1e9:g} s")
        return answer

    def _body(self) -> dict[str, Any]:
        prompt = _PROMPTS[self._attempts % len(_PROMPTS)]
        asked: dict[str, Any] = {
            "model": self._plan.served_model,
            "max_tokens": 1,
            "temperature": 0,
        }
        if self._path.endswith("/chat/completions"):
            return {**asked, "messages": [{"role": "user", "content": prompt}]}
        return {**asked, "prompt": prompt}

    def _judged(self, answer: Answer) -> Ready | None:
        """The proof if the answer was the last one; a step further otherwise."""
        ready = self._steps[self._step](answer)
        self.seen = f"{self._path}: as it should be"
        self._step += 1
        return ready

    def _later(self, seen: str, now_ns: int) -> None:
        """Take note of what was seen, and begin again after a while."""
        self.close()
        self.seen = seen
        self._attempts += 1
        self._step = 0
        waited_ns = (now_ns - self._started_ns) // _PAUSE_SHARE
        self._not_before_ns = now_ns + min(_LONGEST_PAUSE_NS, waited_ns)

    def _health(self, answer: Answer) -> None:
        if answer.status != self._plan.health.ready_status:
            raise _NotYetError(f"{self._path}: HTTP {answer.status}")

    def _models(self, answer: Answer) -> None:
        if answer.status != _OK:
            raise _NotYetError(f"{self._path}: HTTP {answer.status}")
        wanted, self._listed = self._plan.served_model, _listed(answer)
        if wanted not in self._listed:
            others = ", ".join(map(repr, self._listed)) or "no model"
            raise _NotYetError(f"{self._path} lists {others}, not {wanted!r}")

    def _token(self, answer: Answer) -> Ready:
        if answer.status != _OK:
            raise self._refused(answer)
        match json_of(answer):
            case {"usage": {"completion_tokens": int(count), **usage}, **rest} if count > 0:
                first = FirstToken(
                    model=_text(rest.get("model")),
                    prompt_tokens=_count(usage.get("prompt_tokens")),
                    completion_tokens=count,
                    system_fingerprint=_text(rest.get("system_fingerprint")),
                )
                return Ready(models=self._listed, first_token=first)
        raise _NotYetError(
            f"{self._path} answered without a token that it counts: {_shown(answer)}"
        )

    def _refused(self, answer: Answer) -> Exception:
        seen = f"{self._path}: HTTP {answer.status}: {_shown(answer)}"
        if answer.status in _FOR_LATER or answer.status >= _SERVER_ERROR:
            return _NotYetError(seen)
        return LaunchError(
            "request refused",
            f"launch of {self._plan.name!r}",
            f"the server is healthy and refuses to generate one token ({seen})",
            "Compare the served model's name and the API key with what the server was given",
        )


def _listed(answer: Answer) -> tuple[str, ...]:
    match json_of(answer):
        case {"data": list(entries)}:
            return tuple(str(entry["id"]) for entry in entries if _has_id(entry))
    return ()


def _has_id(entry: object) -> bool:
    return isinstance(entry, dict) and "id" in entry


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _shown(answer: Answer) -> str:
    return " ".join(answer.text.split())[:_SHOWN]

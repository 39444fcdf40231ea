"""How a request ended, judged from its transport and from what its answer said.

    not sent, could not connect, cancelled, timed out   by the transport
    status not 2xx                                      failed_http
    an error inside a 200 answer, or no output in it    failed_in_band
    connection lost before `[DONE]`                     failed_reset
    a clean end that nothing announced                  truncated
    else                                                ok
A clean end is announced by a finish reason, by `[DONE]`, by usage in the place where servers
send it last, or by as many tokens as were asked for: any one of them suffices.
"""

from typing import Literal

from flows.load.answer import Answer
from flows.load.raw import RawRequest

Outcome = Literal[
    "ok",
    "failed_http",
    "failed_in_band",
    "failed_reset",
    "failed_connect",
    "truncated",
    "timed_out",
    "cancelled",
    "not_sent",
]
_BY_TRANSPORT: dict[str, Outcome] = {
    "not_sent": "not_sent",
    "connect": "failed_connect",
    "cancelled": "cancelled",
    "timed_out": "timed_out",
}
_CUT_REASONS = ("abort", "aborted", "cancelled")  # the server's word for an unfinished answer


def judge(raw: RawRequest, answer: Answer) -> tuple[Outcome, str]:
    """Return the outcome and the reason kept with it (empty where there is none)."""
    if raw.status is not None and not 200 <= raw.status < 300:
        return "failed_http", answer.error or raw.error or f"HTTP status {raw.status}"
    if answer.error is not None:
        return "failed_in_band", answer.error
    if raw.outcome in _BY_TRANSPORT:
        return _BY_TRANSPORT[raw.outcome], raw.error
    if raw.outcome == "reset" and not answer.done:
        return "failed_reset", raw.error or "the connection ended inside the answer"
    return _judge_ended(raw, answer)


def _judge_ended(raw: RawRequest, answer: Answer) -> tuple[Outcome, str]:
    if answer.finish_reason == "error":
        return "failed_in_band", "finish_reason: error"
    if answer.finish_reason in _CUT_REASONS:
        return "truncated", f"finish_reason: {answer.finish_reason}"
    if not answer.stamps_ns:
        return "failed_in_band", f"a {raw.status} answer without output"
    is_announced = (
        answer.finish_reason is not None
        or answer.done
        or answer.ended_by_usage
        or max(answer.output_tokens or 0, len(answer.stamps_ns)) >= raw.output_tokens
    )
    if not is_announced:
        return "truncated", (
            f"the stream ended after {len(answer.stamps_ns)} chunks of {raw.output_tokens}"
            " tokens asked, without finish_reason, usage or [DONE]"
        )
    return "ok", raw.error

import random

import pytest

from flows.load.plan import Warmup
from flows.load.warmup import WarmupJudge, first_token_ns

MS = 1_000_000


def text(words):
    return b'data: {"choices":[{"index":0,"text":"%b"}]}\n\n' % words


def answer(ttft_ns, gap_ns, tokens=8):
    pieces = [text(b" t") for _ in range(tokens)]
    return 0, pieces, [round(ttft_ns + number * gap_ns) for number in range(tokens)]


def first_agreement(answers, *, skipped=0, **changes):
    judge = WarmupJudge(Warmup(**changes), skipped=skipped)
    for number, one in enumerate(answers, start=1):
        if judge.agrees_after(*one):
            return number
    return None


def test_a_steady_server_agrees_after_three_windows_of_ten():
    assert first_agreement([answer(50 * MS, 10 * MS)] * 100) == 30


def test_the_first_wave_is_not_looked_at():
    wave = [answer((50 + number) * MS, 10 * MS) for number in range(16)]

    assert first_agreement(wave + [answer(50 * MS, 10 * MS)] * 100, skipped=16) == 46


def test_windows_that_differ_by_two_percent_agree_and_by_three_do_not():
    def drifting(share):
        return [answer(50 * MS * (1 + share * (n // 10) / 2), 10 * MS) for n in range(30)]

    assert first_agreement(drifting(0.0199)) == 30
    assert first_agreement(drifting(0.03)) is None


def test_a_steady_ttft_is_not_enough_while_the_gaps_still_fall():
    answers = [answer(50 * MS, (20 - n / 5) * MS) for n in range(60)]

    assert first_agreement(answers) is None


def test_steady_gaps_are_not_enough_while_the_ttft_still_falls():
    answers = [answer((100 - n) * MS, 10 * MS) for n in range(60)]

    assert first_agreement(answers) is None


def test_a_warming_server_agrees_once_it_is_warm():
    cold = [answer((100 - n) * MS, 10 * MS) for n in range(40)]

    assert first_agreement(cold + [answer(50 * MS, 10 * MS)] * 60) == 70


def test_a_spread_of_a_fifth_rarely_agrees_by_luck():
    draw = random.Random(42)
    answers = [answer(draw.gauss(100, 20) * MS, 10 * MS) for _ in range(100)]

    assert first_agreement(answers) is None


def test_answers_without_tokens_fill_no_window():
    empty = (0, [b'{"error": "busy"}'], [5])

    assert first_agreement([empty, answer(50 * MS, 10 * MS)] * 30) == 60


def test_answers_of_one_token_are_judged_by_their_ttft():
    assert first_agreement([answer(50 * MS, 0, tokens=1)] * 30) == 30


@pytest.mark.parametrize(
    "opening",
    [
        b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n',
        b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\n\n',
        b'data: {"choices":[{"index":0,"text":""}]}\n\n',
        b": keep-alive\n\n",
    ],
)
@pytest.mark.parametrize(
    "token",
    [
        b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n',
        b'data: {"choices":[{"delta":{"reasoning_content": "Hm"}}]}\n\n',
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}\n\n',
        b'data: {"choices": [{"text" : "\\n"}]}\n\n',
    ],
)
def test_an_opening_without_output_is_not_the_first_token(opening, token):
    assert first_token_ns([opening, token, token], [10, 20, 30]) == 20


def test_no_output_has_no_first_token():
    assert first_token_ns([b"data: [DONE]\n\n"], [10]) is None

from __future__ import annotations

import pytest

from flows.launch.exits import explained


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (-9, "killed", "killed (-9, SIGKILL)"),
        (137, "killed", "killed (137, SIGKILL)"),
        (-4, "crashed", "SIGILL (-4)"),
        (139, "crashed", "SIGSEGV (139)"),
        (-15, "ended by a signal", "SIGTERM (-15)"),
        (0, "ended", "without an error"),
        (2, "ended", "a flag that they lack"),
        (127, "ended", "not found"),
        (7, "ended", "with code 7"),
        (255, "ended", "with code 255"),
    ],
)
def test_a_code_is_told_as_what_it_means(code: int, kind: str, words: str) -> None:
    found = explained(code, 0)

    assert (found.code, found.kind) == (code, kind)
    assert words in found.sentence
    assert found.do


@pytest.mark.parametrize("code", [-9, 137, 1])
def test_a_kill_for_memory_shows_by_the_kernels_count_also_where_a_worker_died(
    code: int,
) -> None:
    found = explained(code, 2)

    assert found.kind == "out of memory"
    assert "rose by 2 meanwhile" in found.sentence
    assert "take more memory" in found.do


def test_an_illegal_instruction_asks_for_another_build() -> None:
    assert "instructions that this CPU lacks" in explained(-4, 0).do

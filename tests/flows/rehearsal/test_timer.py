"""Deadlines fire once, not before their time, and can be moved."""

from __future__ import annotations

import asyncio
import time

import pytest
import uvloop

from flows.rehearsal.timer import KernelDeadline, LoopDeadline, deadline

KINDS = [KernelDeadline, LoopDeadline]


def fired(kind, *delays_s, wait_s=0.15):
    """Lateness in seconds of each call after setting these delays one after another."""

    async def main():
        calls = []
        timer = kind(asyncio.get_running_loop(), lambda: calls.append(time.monotonic_ns()))
        for delay_s in delays_s:
            at_ns = time.monotonic_ns() + round(delay_s * 1e9)
            timer.set(at_ns)
        await asyncio.sleep(wait_s)
        timer.close()
        return [(call - at_ns) / 1e9 for call in calls]

    return uvloop.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_deadline_fires_once_and_never_early(kind):
    late = fired(kind, 0.03)

    assert len(late) == 1
    assert late[0] >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_deadline_in_the_past_fires_at_once(kind):
    assert len(fired(kind, -5)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_setting_again_moves_the_deadline(kind):
    late = fired(kind, 0.01, 0.08, 0.04)

    assert len(late) == 1
    assert late[0] >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_deadline_does_not_fire(kind):
    assert fired(kind, 10, wait_s=0.01) == []


def test_this_system_has_a_deadline():
    assert len(fired(deadline, 0.01)) == 1

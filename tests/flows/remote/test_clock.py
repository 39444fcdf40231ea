"""A host's clock is read as closely as the way there allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flows.remote.clock import offset_of

WAYS = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=5, max_size=5)


@given(ahead_ns=st.integers(-(10**15), 10**15), ways=WAYS)
def test_the_error_is_never_more_than_is_said_however_uneven_the_ways(ahead_ns, ways):
    now = [0]
    rounds = iter(ways)

    def ask() -> int:
        there, back = next(rounds)
        now[0] += there
        seen = now[0] + ahead_ns
        now[0] += back
        return seen

    found = offset_of(ask, lambda: now[0])

    assert abs(found.ahead_ns - ahead_ns) <= found.error_ns + 1
    assert found.error_ns <= min((there + back + 1) // 2 for there, back in ways)
    assert found.here(found.there(12345)) == 12345

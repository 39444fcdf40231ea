from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deploy_templates.plan import Phase
from flows.launch.phases import phase_times

PHASES = tuple(Phase(name=name, pattern=name) for name in ("weights", "compile", "graphs"))


def test_each_phase_lasts_from_the_line_before_it_to_its_own() -> None:
    times = phase_times(PHASES, {"weights": 300, "compile": 450, "graphs": 460}, 100, 500)

    assert [(each.name, each.duration_ns) for each in times] == [
        ("weights", 200),
        ("compile", 150),
        ("graphs", 10),
        ("first token", 40),
    ]


def test_a_phase_whose_line_never_came_is_in_the_next_one() -> None:
    times = phase_times(PHASES, {"weights": 300, "graphs": 460}, 100, 500)

    assert [(each.name, each.duration_ns) for each in times] == [
        ("weights", 200),
        ("graphs", 160),
        ("first token", 40),
        ("compile", None),
    ]


@given(
    st.dictionaries(st.sampled_from([phase.name for phase in PHASES]), st.integers(0, 10**12)),
    st.integers(0, 10**12),
)
def test_phases_sum_to_the_whole_start_in_whatever_order_the_lines_came(
    after_ns: dict[str, int], rest_ns: int
) -> None:
    started_ns = 7
    seen_ns = {name: started_ns + ns for name, ns in after_ns.items()}
    ready_ns = max(seen_ns.values(), default=started_ns) + rest_ns
    times = phase_times(PHASES, seen_ns, started_ns, ready_ns)

    assert sum(each.duration_ns or 0 for each in times) == ready_ns - started_ns
    assert all(each.duration_ns is None or each.duration_ns >= 0 for each in times)
    assert {each.name for each in times} == {"weights", "compile", "graphs", "first token"}

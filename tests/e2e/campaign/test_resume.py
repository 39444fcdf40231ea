"""A campaign that is killed goes on where it was: no cell twice, none lost."""

from __future__ import annotations

import pytest

from reports.manifest import verify
from tests.e2e.campaign.conftest import descendants_left, engine, events, kept, planned

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("prefect")]


def test_killed_at_three_points_it_leaves_the_cells_of_an_undisturbed_run(folder):
    file = folder.campaign([engine("a"), engine("b", max_sequences=1)], matrix={"requests": 20})
    words: tuple[str, ...] = ()
    seen = 0
    for event, after in (("measuring", 0), ("measured", 0), ("launching", 1)):
        started = folder.start(file, *words)
        folder.wait_for(
            lambda e, event=event, after=after: (
                e["event"] == event and e["replication"] >= after
            ),
            started,
            beyond=seen,
        )
        started.kill()
        started.communicate()
        words = ("--resume", "latest")
        seen = len(folder.run.ledger)

    done = folder.compare(file, *words)

    run = folder.run
    decided = run.decision
    assert done.code in (0, 4, 5, 7), done.err
    assert kept(run) == planned(run)
    measured = [
        (e["candidate"], e["load_point"], e["replication"])
        for e in run.ledger
        if e["event"] == "measured"
    ]
    assert sorted(measured) == planned(run)
    assert len(events(run, "resumed")) == 3
    assert not list(run.folder.path.glob(".partial/*/*"))
    assert verify(run.folder) == ()
    assert run.summary.rehearsal
    assert not descendants_left(folder.started)

    again = folder.compare(file, *words)  # it is whole: it is only concluded once more

    assert (again.code, folder.run.decision.sentence) == (done.code, decided.sentence)
    assert len(events(folder.run, "launching")) == len(events(run, "launching"))


def test_of_twenty_candidates_each_has_its_cells_and_its_place(folder):
    candidates = [engine(f"n{number}", max_sequences=1 + number % 3) for number in range(20)]
    file = folder.campaign(candidates, matrix={"replications": 1, "requests": 10})

    done = folder.compare(file)

    run = folder.run
    assert done.code in (0, 4, 5, 7), done.err
    assert kept(run) == planned(run)
    assert len(run.decision.ranking) == 20
    assert {each.file.basis for each in run.cells} == {"simulation"}
    assert run.decision.stamp == "REHEARSAL"
    assert not descendants_left(folder.started)

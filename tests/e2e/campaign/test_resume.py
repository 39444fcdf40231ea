"""A campaign that is killed goes on where it was: no cell twice, none lost."""

from __future__ import annotations

import signal

import pytest

from reports.manifest import verify
from tests.e2e.campaign.conftest import (
    descendants_left,
    ended,
    engine,
    events,
    kept,
    planned,
)

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("campaigns")]


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

    # it is whole: it stays as it is
    manifest = run.folder.file("manifest.json").read_bytes()
    assert folder.compare(file, *words).code == done.code
    assert run.folder.file("manifest.json").read_bytes() == manifest
    assert verify(run.folder) == ()

    # without its report it is only concluded once more; a signal meanwhile ends nothing early
    run.folder.file("report.html").unlink()
    started = folder.start(file, *words)
    folder.wait_for(lambda e: e["event"] == "concluded", started, beyond=len(run.ledger))
    started.send_signal(signal.SIGINT)
    again = ended(started)

    assert again.code == 130, again.err
    assert "the run is whole" in again.out
    assert "ended early" not in again.out
    assert folder.run.summary.interrupted is None
    assert folder.run.decision.sentence == decided.sentence
    assert verify(folder.run.folder) == ()
    for event in ("acquiring", "launching"):
        assert len(events(folder.run, event)) == len(events(run, event))


def test_of_twenty_candidates_each_has_its_cells_and_its_place(folder):
    candidates = [engine(f"n{number}", max_sequences=1 + number % 3) for number in range(20)]
    file = folder.campaign(candidates, matrix={"replications": 1, "requests": 10, "rates": []})

    done = folder.compare(file)

    run = folder.run
    assert done.code in (0, 4, 5, 7), done.err
    assert kept(run) == planned(run)
    assert len(run.decision.ranking) == 20
    assert {each.file.basis for each in run.cells} == {"simulation"}
    assert run.decision.stamp == "REHEARSAL"
    assert not descendants_left(folder.started)

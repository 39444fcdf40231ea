"""Real servers, real load, a real verdict: what one command leaves behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from deploy_templates.registry import shipped_runtimes
from flows.host_turns import host_turn
from reports.manifest import verify
from tests.e2e.campaign.conftest import (
    LIMIT_S,
    descendants_left,
    ended,
    engine,
    events,
    kept,
    llama,
    planned,
)

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("prefect")]
VERDICTS = (0, 4, 5, 7)  # a busy machine may void evidence, and that is a verdict too


def test_one_command_screens_measures_and_reports(alone):
    file = alone.campaign(
        [
            llama("two-slots"),
            llama("one-slot", settings={"max_sequences": 1}),
            llama("eight-bit", precision="gguf_q8_0"),
            {
                **llama("voted-out"),
                "host": None,
                "device": "nvidia-l4",
                "device_count": 3,
                "tensor_parallel": 3,
            },
        ],
        matrix={"rates": ["25/s"], "replications": 1, "requests": 60},
    )

    done = alone.compare(file, "--json")

    run = alone.run
    assert done.code in VERDICTS, done.err
    assert kept(run) == planned(run)
    assert {each.file.basis for each in run.cells} == {"measurement"}
    assert run.plan.candidate("voted-out").verdict == "reject"
    assert run.decision.of("voted-out").standing == "voted out on paper"
    assert "quality is not measured" in " ".join(run.decision.of("eight-bit").unsignable)
    assert run.decision.chosen != "eight-bit"
    assert run.decision.stamp == "EXPLORATORY"
    assert run.decision.sentence in done.out
    assert verify(run.folder) == ()
    assert run.folder.file("report.html").stat().st_size > 10_000
    assert run.hosts[0].driver == "local"
    assert events(run, "acquired")
    assert events(run, "released")
    assert not descendants_left(alone.started)


def test_a_server_that_dies_and_one_that_never_comes_cost_the_others_nothing(folder, tmp_path):
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 100\n")
    sleeper.chmod(0o755)
    never = llama(
        "never", settings={"form": "binary", "programs": {"llama-server": str(sleeper)}}
    )
    file = folder.campaign(
        [llama("good"), llama("dying"), {**never, "runtime": "impatient", "version": "b11434"}]
    )
    overlay = impatient(tmp_path / "catalog")

    started = folder.start(file, "--catalog", overlay)
    for number in (0, 1):
        entry = folder.wait_for(
            lambda e, number=number: (
                e["event"] == "measuring"
                and (e["candidate"], e["replication"]) == ("dying", number)
            ),
            started,
        )
        launched = folder.wait_for(
            lambda e, entry=entry: e["event"] == "launched" and e["launch"] == entry["launch"],
            started,
        )
        os.kill(launched["pid"], signal.SIGKILL)
    done = ended(started)

    run = folder.run
    assert done.code in VERDICTS, done.err
    assert kept(run) == [each for each in planned(run) if each[0] == "good"]
    why = {entry["candidate"]: entry["why"] for entry in events(run, "launch-failed")}
    assert "SIGKILL" in why["dying"]
    assert "not ready within 2 s" in why["never"]
    assert {e["candidate"] for e in events(run, "discarded")} == {"dying"}
    assert len(events(run, "launch-failed")) == 3  # the sleeper was tried once
    assert {each.state for each in run.summary.candidate("dying").launches} == {"died"}
    assert {each.state for each in run.summary.candidate("never").launches} == {"failed"}
    assert run.decision.of("never").standing == "failed"
    assert not descendants_left(folder.started)


def impatient(catalog: Path) -> Path:
    """The runtime llama_server under another name, which waits two seconds for a server."""
    place = catalog / "runtimes" / "impatient"
    shutil.copytree(shipped_runtimes() / "llama_server", place)
    text = (place / "runtime.yaml").read_text()
    text = text.replace("name: llama_server", "name: impatient", 1)
    text = text.replace("{limit_s: 60, limit_s_per_gib: 20}", "{limit_s: 2}")
    (place / "runtime.yaml").write_text(text)
    return catalog


def test_a_budget_that_is_too_small_stops_before_the_step_that_exceeds_it(folder):
    file = folder.campaign([llama("dear", assumptions={"price": "$100/h"})])

    done = folder.compare(file, "--budget-usd", "0.5")

    run = folder.run
    assert done.code == 9, done.err
    assert kept(run) == []
    assert [entry["event"] for entry in run.ledger][-3:] == [
        "budget-stop",
        "spent",
        "concluded",
    ]
    assert "a launch of dear" in done.err + done.out
    assert events(run, "released")
    assert run.folder.file("report.html").exists()


def test_all_that_begin_at_the_same_time_have_a_limit_of_one_host(prefect_url, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)

    async def within() -> int:
        async with host_turn("shared", set(), is_shared=True):
            return 1

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(within() for _ in range(8)))

    assert sum(asyncio.run(all_of_them())) == 8


def test_one_signal_of_any_kind_ends_the_load_releases_and_reports(folders):
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    begun = {number: folders(number.name) for number in numbers}
    started = {}
    for number, folder in begun.items():
        file = folder.campaign([engine("a")], matrix={"requests": 5000})
        started[number] = folder.start(file)

    for number, folder in begun.items():
        folder.wait_for(lambda e: e["event"] == "measuring", started[number])
        started[number].send_signal(number)

    for number, folder in begun.items():
        done, run = ended(started[number]), folder.run
        assert done.code == 130, done.err
        assert kept(run) == []
        assert [e["why"] for e in events(run, "interrupted")] == [number.name]
        assert events(run, "stopped")
        assert events(run, "released")
        assert run.folder.file("report.html").exists()
        assert number.name in run.summary.interrupted
        assert not descendants_left([started[number]])


def test_a_reader_that_goes_away_costs_neither_the_campaign_nor_its_exit_code(folder):
    file = folder.campaign([engine("a")], matrix={"replications": 1})

    started = folder.start(file)
    for stream in (started.stdout, started.stderr):
        stream.close()
    code = started.wait(LIMIT_S)

    run = folder.run
    assert code == run.decision.exit_code
    assert kept(run) == planned(run)
    assert run.folder.file("report.html").exists()

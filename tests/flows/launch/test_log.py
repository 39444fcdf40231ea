from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deploy_templates.plan import Failure, LaunchPlan, Phase, Report, Reported
from flows.launch.log import LogReader, short
from flows.launch.watch import LogWatch


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.touch()
    return path


def write(log: Path, text: str | bytes) -> None:
    with log.open("ab") as file:
        file.write(text.encode() if isinstance(text, str) else text)


def test_a_line_counts_when_it_is_whole(log: Path) -> None:
    reader = LogReader(log)
    write(log, "loading\nrea")
    before = reader.lines()
    write(log, "dy\n")

    assert before == ["loading"]
    assert reader.lines() == ["ready"]
    assert reader.last_line == "ready"


def test_progress_bars_colours_and_blank_lines_are_read_as_a_person_reads_them(
    log: Path,
) -> None:
    write(log, "\x1b[32mloading\x1b[0m\r 50%\r100%\n\n  \nschön \xff\n")

    assert LogReader(log).lines() == ["loading", " 50%", "100%", "schön ÿ"]


def test_bytes_that_are_no_text_do_no_harm(log: Path) -> None:
    write(log, b"\xff\xfe broken\n")

    assert LogReader(log).lines() == ["\ufffd\ufffd broken"]


def test_of_a_line_without_end_the_beginning_is_kept(log: Path) -> None:
    reader = LogReader(log)
    write(log, "error: " + "x" * 300_000)
    assert reader.lines() == []
    write(log, "y\nnext\n")

    first, second = reader.lines()
    assert first.startswith("error: xxx")
    assert len(first) == 1 << 16
    assert second == "next"


def test_the_rest_holds_the_unfinished_last_line(log: Path) -> None:
    reader = LogReader(log)
    write(log, "one\ntwo")

    assert list(reader.rest()) == ["one", "two"]
    assert list(reader.rest()) == []


def test_a_silent_server_wrote_nothing(log: Path) -> None:
    assert LogReader(log).last_line == "it wrote nothing"


def test_a_long_line_is_shown_by_its_beginning() -> None:
    assert short("x" * 1000) == "x" * 300 + "…"
    assert short("x") == "x"


@pytest.fixture
def watch(rehearsal_plan: Callable[..., LaunchPlan], log: Path) -> LogWatch:
    """A watch over the log of a plan with three phases."""
    plan = replace(
        rehearsal_plan(),
        phases=tuple(Phase(name=name, pattern=f"{name} done") for name in ("a", "b", "c")),
        failures=(
            Failure(pattern="failed: .*", error="general", means="it failed", do="Look"),
            Failure(pattern="memory", error="memory", means="too little", do="Buy"),
        ),
        report=Report(
            version=Reported(variable="version", path="", key=r"v(\d+)", dialect="log"),
            settings=(Reported(variable="seed", path="", key="seed=7", dialect="log"),),
        ),
    )
    return LogWatch(LogReader(log), plan, 1000)


def test_phases_are_timed_by_the_first_look_that_saw_their_line(
    watch: LogWatch, log: Path
) -> None:
    stages = [watch.stage]
    for at_ns, text in ((1010, "a done\n"), (1050, "a done\nc done\n"), (1060, "b done\n")):
        write(log, text)
        watch.look(at_ns)
        stages.append(watch.stage)

    assert watch.seen_ns == {"a": 1010, "c": 1050, "b": 1060}
    assert watch.blind_ns == 40
    assert stages == ["a", "b", "first token", "first token"]


def test_a_value_is_taken_from_the_first_line_that_gives_it(watch: LogWatch, log: Path) -> None:
    write(log, "release v12\nrelease v13 seed=7\n")
    watch.look(1001)

    assert watch.reported == {r"v(\d+)": "12", "seed=7": "seed=7"}


def test_the_first_line_that_fails_is_the_one_that_matters(watch: LogWatch, log: Path) -> None:
    write(log, "fine\nno memory\nfailed: all\n")
    watch.look(1001)

    assert watch.failure is not None
    assert (watch.failure.failure.error, watch.failure.line) == ("memory", "no memory")


def test_the_first_exception_is_remembered_beside_what_engines_make_of_it(
    watch: LogWatch, log: Path
) -> None:
    write(log, "errors like `OSError: too many` are possible\n")
    write(log, "(Worker-0) ERROR [executor.py:9] ValueError: 19.1 GiB is less than desired\n")
    write(log, "RuntimeError: engine core failed. See root cause above\n")
    watch.look(1001)

    assert watch.first_error is not None
    assert watch.first_error.endswith("ValueError: 19.1 GiB is less than desired")

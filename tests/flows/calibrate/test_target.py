"""The program that measures a host: what it falls back to, what it names, when it repeats."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from flows.calibrate import target
from flows.calibrate.target import Session

STEP = {"by": "kernel", "what": "memory read, all", "name": "memory_read", "mode": "read"}


def order(*steps, **more):
    return {
        "groups": [{"name": "memory", "steps": list(steps)}],
        "blocks": 2,
        "block_s": 0.001,
        "exploratory": True,
        **more,
    }


def text_step(program: Path, *words: str):
    return {"by": "text", "what": "a tool", "argv": [program.name, *words]}


@pytest.fixture
def tool(tmp_path, monkeypatch) -> Path:
    """A benchmark on the host's PATH that prints its arguments, and fails when told to."""
    path = tmp_path / "bin" / "tool"
    path.parent.mkdir()
    path.write_text(
        '#!/bin/sh\ntest "$1" = fail && { echo no device >&2; exit 3; }\necho "$@"\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    return path


def test_without_compiler_and_numpy_nothing_is_measured_and_the_reason_is_named(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Session, "_with", lambda *_: None)

    result = Session(order(STEP | {"bytes": 1 << 20, "cpus": [0]}), tmp_path).run()

    assert result["figures"] == []
    assert result["unavailable"] == [
        {
            "what": "memory read, all",
            "why": "the host has neither a C compiler nor NumPy",
        }
    ]


def test_a_tool_that_is_not_there_or_fails_is_named_with_what_it_said(tmp_path, tool):
    missing = text_step(tool.with_name("absent"))
    result = Session(
        order(text_step(tool, "-g", "2"), missing, text_step(tool, "fail")), tmp_path
    ).run()

    assert result["texts"] == {"tool": "-g 2\n"}
    assert [each["why"] for each in result["unavailable"]] == [
        "absent is not on the host's PATH",
        f"{tool} ended with 3: no device",
    ]


def test_a_disturbed_group_is_done_three_times_at_most_and_a_quiet_one_once(
    tmp_path, tool, monkeypatch, capsys
):
    seen = iter([("busy",), (), ("busy",), ("busy",), ("busy",)])
    monkeypatch.setattr(target, "objections", lambda _load: next(seen))
    twice = order(text_step(tool), exploratory=False)

    assert Session(twice, tmp_path).run()["attempts"] == {"memory": 2}
    assert capsys.readouterr().out.splitlines() == [
        "memory: attempt 1 of at most 3",
        "memory: attempt 2 of at most 3; the one before was disturbed: busy",
    ]
    assert Session(twice, tmp_path).run()["attempts"] == {"memory": 3}


def test_a_group_in_which_nothing_was_measured_was_not_disturbed(tmp_path, tool, monkeypatch):
    monkeypatch.setattr(target, "objections", lambda _load: ("busy",))
    nothing = order(text_step(tool.with_name("absent")), exploratory=False)

    result = Session(nothing, tmp_path).run()

    assert (result["attempts"], result["loads"]) == ({"memory": 1}, {})
    assert [each["what"] for each in result["unavailable"]] == ["a tool"]


def test_a_named_python_is_tried_before_this_one_and_engines_after_it(tmp_path, monkeypatch):
    engine = tmp_path / "installs" / "vllm" / "venv" / "bin" / "python"
    engine.parent.mkdir(parents=True)
    for path in (named := tmp_path / "mine", engine):
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(0o755)
    asked = order(pythons=[str(named)], roots=[str(tmp_path)])

    assert Session(asked, tmp_path)._with("torch") == str(named)
    named.unlink()
    assert Session(asked, tmp_path)._with("no_such_module_anywhere") == str(engine)
    assert Session(asked, tmp_path)._with("json") == sys.executable


def test_a_result_is_written_whole(tmp_path, tool):
    asked, told = tmp_path / "order.json", tmp_path / "result.json"
    asked.write_text(json.dumps(order(text_step(tool, "hello"))))

    assert target.main([str(asked), str(told)]) == 0

    assert json.loads(told.read_text())["texts"] == {"tool": "hello\n"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bin",
        "order.json",
        "result.json",
    ]

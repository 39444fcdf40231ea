"""Starts that fail: each ends in seconds, says what happened, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy_templates.plan import Failure, LaunchPlan
from flows.errors import ExitCode, LaunchError
from flows.launch.ports import listeners
from flows.launch.processes import Family, process_of
from flows.launch.running import Running
from flows.launch.wait import Progress

pytestmark = pytest.mark.e2e
BOTH = pytest.mark.parametrize("form", ["binary", "embedded"])
MEMORY = Failure(
    pattern="CUDA out of memory",
    error="out of memory",
    means="weights and cache do not fit",
    do="Lower memory_utilisation",
)


@pytest.fixture
def failed(started: Callable[..., Running], tmp_path: Path) -> Callable[..., LaunchError]:
    """The error of a launch that must fail, with the proof that nothing of it is left."""

    def fail(plan: LaunchPlan, **options: Any) -> LaunchError:
        with pytest.raises(LaunchError) as caught:
            started(plan, **options)
        left = json.loads((tmp_path / "launch" / "launch.json").read_text())
        assert Family(leader=left["pid"], mark=left["mark"]).members() == ()
        assert listeners(plan.host, plan.port) == ()
        assert left["state"] == "failed"
        assert left["error"]["kind"] == caught.value.kind
        assert caught.value.exit_code == ExitCode.INFRASTRUCTURE
        assert str(tmp_path / "launch" / "server.log.zst") in caught.value.do
        return caught.value

    return fail


@BOTH
def test_a_missing_model_file_is_named_with_the_logs_line(
    form: str,
    llama_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    tmp_path: Path,
) -> None:
    error = failed(llama_plan(form, location=tmp_path / "absent.gguf"))

    assert error.kind == "model file missing"
    assert "absent.gguf" in error.seen
    assert error.do.startswith("Give the path of a .gguf file")


@BOTH
def test_a_file_of_another_kind_is_no_model(
    form: str,
    llama_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    tmp_path: Path,
) -> None:
    (tmp_path / "text.gguf").write_text("once upon a time" * 99)

    assert failed(llama_plan(form, location=tmp_path / "text.gguf")).kind == "not a GGUF file"


@BOTH
def test_a_length_beyond_the_models_context_ends_the_start(
    form: str, llama_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    error = failed(llama_plan(form, max_model_len=4096))

    assert error.kind == "context too long"
    assert "Lower max_model_len" in error.do


@BOTH
def test_an_unknown_flag_is_named(
    form: str, llama_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    error = failed(llama_plan(form, extra_args=("--no-such-flag",)))

    assert error.kind == "unknown flag"
    assert "--no-such-flag" in error.seen


@BOTH
def test_a_server_killed_while_loading_is_told_from_one_that_failed(
    form: str,
    llama_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    tmp_path: Path,
) -> None:
    def kill(_progress: Progress) -> None:
        pid = json.loads((tmp_path / "launch" / "launch.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)

    error = failed(llama_plan(form), progress=kill)

    assert error.kind == "killed"
    assert "(-9, SIGKILL)" in error.seen
    assert "dmesg" in error.do


def test_a_taken_port_is_refused_before_the_start_with_who_holds_it(
    llama_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan = llama_plan("embedded")
    with (
        socket.create_server((plan.host, plan.port)),
        pytest.raises(LaunchError, match=rf"pid {os.getpid()} \(") as caught,
    ):
        started(plan)

    assert caught.value.kind == "port in use"
    assert f"kill {os.getpid()}" in caught.value.do
    assert not (tmp_path / "launch").exists()


def test_yesterdays_server_is_not_taken_for_todays(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = rehearsal_plan()
    yesterday = started(plan)

    with pytest.raises(LaunchError, match=rf"pid {yesterday.pid} \(python"):
        started(plan)


def test_a_stranger_that_takes_the_port_meanwhile_is_not_taken_for_ours(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = script_plan("time.sleep(60)")
    server = f"import socket; held = socket.create_server({(plan.host, plan.port)})"
    strangers: list[subprocess.Popen[bytes]] = []

    def intrude(_progress: Progress) -> None:
        if not strangers:
            words = [sys.executable, "-c", f"{server}; print(flush=True); input()"]
            strangers.append(
                subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            strangers[0].stdout.readline()

    try:
        with pytest.raises(LaunchError) as caught:
            started(plan, progress=intrude)
    finally:
        strangers[0].communicate(b"\n")

    assert caught.value.kind == "port not ours"
    assert f"answered by pid {strangers[0].pid} (" in caught.value.seen
    assert strangers[0].returncode == 0


def test_a_green_health_page_without_the_model_is_not_ready(
    rehearsal_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    patience_until: Callable[[str], dict[str, Any]],
) -> None:
    plan = rehearsal_plan(
        lifecycle={"never_ready": True, "while_loading": "green"},
        identity={"models": ["another"]},
    )
    error = failed(plan, **patience_until("/v1/models lists"))

    assert error.kind == "not ready"
    assert "/v1/models lists 'another', not 'tiny-llama-19m'" in error.seen


def test_a_green_health_page_and_a_listed_model_without_an_answer_is_not_ready(
    rehearsal_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    patience_until: Callable[[str], dict[str, Any]],
) -> None:
    plan = rehearsal_plan(
        lifecycle={"never_ready": True, "while_loading": "green"},
        identity={"models": ["tiny-llama-19m"]},
    )

    assert (
        "/v1/completions: HTTP 503: "
        in failed(plan, **patience_until("/v1/completions: HTTP 503")).seen
    )


def test_a_server_that_never_gets_ready_ends_at_the_limit(
    rehearsal_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    patience_until: Callable[[str], dict[str, Any]],
) -> None:
    error = failed(
        rehearsal_plan(lifecycle={"never_ready": True}), **patience_until("/health: HTTP 503")
    )

    assert error.kind == "not ready"
    assert error.seen.startswith("not ready within 60 s: /health: HTTP 503; phase ")
    assert "listening on http://" in error.seen


def test_a_server_that_accepts_and_says_nothing_ends_at_the_limit(
    script_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    patience_until: Callable[[str], dict[str, Any]],
) -> None:
    plan = script_plan(
        "import socket\n"
        "silent = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "print('not a word')\n"
        "time.sleep(60)"
    )

    assert failed(plan, **patience_until("not a word")).kind == "not ready"


def test_a_known_line_ends_the_wait_at_once_though_the_process_lives(
    rehearsal_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    plan = rehearsal_plan(
        lifecycle={"never_ready": True, "log_lines": ["\x1b[31mE CUDA out of memory: 2 GiB"]}
    )
    error = failed(replace(plan, failures=(MEMORY,)))

    assert error.kind == "out of memory"
    assert error.seen == "weights and cache do not fit (E CUDA out of memory: 2 GiB)"
    assert error.do.startswith("Lower memory_utilisation. Its log is ")


def test_the_first_line_that_matters_counts_when_the_server_has_died_of_it(
    script_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    plan = script_plan(
        "sys.exit('CUDA out of memory\\nengine core initialization failed')",
        failures=(replace(MEMORY, pattern="initialization failed", error="engine"), MEMORY),
    )

    assert failed(plan).kind == "out of memory"


def test_a_server_that_ends_while_loading_is_quoted(
    rehearsal_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    plan = rehearsal_plan(lifecycle={"never_ready": True, "die_after_s": 0.1, "exit_code": 7})
    error = failed(plan)

    assert error.kind == "ended"
    assert "it ended by itself with code 7; its last line: listening on" in error.seen


def test_settings_that_an_engine_refuses_end_the_start(
    rehearsal_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    error = failed(rehearsal_plan(engine={"token_budget": 1}))

    assert error.kind == "settings refused"
    assert "needs at least max_num_seqs x tokens_per_step" in error.seen


def test_a_server_that_refuses_to_generate_ends_the_start_with_its_words(
    script_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    error = failed(script_plan(status="401", answer='{"error": "no such key"}'))

    assert error.kind == "request refused"
    assert "HTTP 401" in error.seen
    assert "no such key" in error.seen


def test_an_answer_without_usage_is_no_token(
    script_plan: Callable[..., LaunchPlan],
    failed: Callable[..., LaunchError],
    patience_until: Callable[[str], dict[str, Any]],
) -> None:
    error = failed(
        script_plan(answer='{"choices": [{"text": "x"}]}'), **patience_until("answered without")
    )

    assert "answered without a token that it counts" in error.seen


def test_a_program_that_is_not_there_is_named(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan = replace(rehearsal_plan(), argv=("no-such-server",))

    with pytest.raises(LaunchError, match="no-such-server: there is no such program") as caught:
        started(plan)
    assert caught.value.kind == "program not found"
    assert not (tmp_path / "launch" / "server.log").exists()


def test_ctrl_c_while_waiting_leaves_nothing_behind(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan = rehearsal_plan(lifecycle={"never_ready": True})

    def interrupt(progress: Progress) -> None:
        if "503" in progress.seen:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        started(plan, progress=interrupt)
    left = json.loads((tmp_path / "launch" / "launch.json").read_text())

    assert left["state"] == "given up"
    assert process_of(left["pid"]) is None
    assert listeners(plan.host, plan.port) == ()


def test_a_server_that_dies_later_is_noticed_with_its_reason(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    running = started(rehearsal_plan(lifecycle={"die_after_requests": 1, "exit_code": 9}))
    running.check()
    with socket.create_connection(("127.0.0.1", running.facts.port), timeout=10) as client:
        body = b'{"model": "tiny-llama-19m", "prompt": "x", "max_tokens": 1}'
        head = f"POST /v1/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        assert client.recv(4096) == b""

    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(LaunchError, match="it ended by itself with code 9"):
        running.check()

    assert running.stop().exit_code == 9
    assert running.stop().signals == ()


def test_an_error_shows_no_secret(
    script_plan: Callable[..., LaunchPlan], failed: Callable[..., LaunchError]
) -> None:
    plan = script_plan(
        "sys.exit('bad token ' + os.environ['HF_TOKEN'])", secret_env=("HF_TOKEN",)
    )
    error = failed(plan, secrets={"HF_TOKEN": "hf_planted_secret"})

    assert "bad token ***" in error.seen
    assert "planted" not in str(error)

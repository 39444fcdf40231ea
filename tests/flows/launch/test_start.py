from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from deploy_templates.plan import LaunchPlan, read_plan
from flows.errors import UsageError
from flows.launch.ports import listeners
from flows.launch.processes import process_of
from flows.launch.running import Running
from flows.launch.wait import Progress

pytestmark = pytest.mark.e2e
SECRET = "hf_planted/secret+value"  # its spelling in an address differs


def sealed(folder: Path) -> str:
    packed = pa.CompressedInputStream(str(folder / "launch" / "server.log.zst"), "zstd")
    return packed.read().decode()


def streamed(running: Running, model: str) -> tuple[list[str], dict[str, int]]:
    """Texts of one streamed answer, and its usage."""
    connection = http.client.HTTPConnection("127.0.0.1", running.facts.port, timeout=30)
    body = {
        "model": model,
        "prompt": "Hello there",
        "max_tokens": 8,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    connection.request("POST", "/v1/completions", json.dumps(body))
    data = connection.getresponse().read().decode()
    connection.close()
    chunks = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: {")]
    texts = [chunk["choices"][0]["text"] for chunk in chunks if chunk["choices"]]
    usage = next(chunk["usage"] for chunk in chunks if chunk.get("usage"))
    return [text for text in texts if text], usage


@pytest.fixture(params=["binary", "embedded", "rehearsal"])
def plan(
    request: pytest.FixtureRequest,
    llama_plan: Callable[..., LaunchPlan],
    rehearsal_plan: Callable[..., LaunchPlan],
) -> LaunchPlan:
    return rehearsal_plan() if request.param == "rehearsal" else llama_plan(request.param)


def test_a_server_becomes_ready_says_what_it_runs_streams_and_goes(
    plan: LaunchPlan, started: Callable[..., Running], tmp_path: Path
) -> None:
    running = started(plan)
    facts = running.facts
    texts, usage = streamed(running, facts.served_model)
    stopped = running.stop()

    assert facts.models == ("tiny-llama-19m",)
    assert facts.first_token.completion_tokens == 1
    assert sum(each.duration_ns or 0 for each in facts.phases) == facts.start_ns
    assert {each.name for each in facts.phases if each.duration_ns is not None} == {
        *(phase.name for phase in plan.phases),
        "first token",
    }
    assert facts.ownership.how == "by process"
    assert facts.ownership.pids == (facts.pid,)
    assert 0 < (facts.ownership.age_s or 0) < 60
    assert (facts.differences, facts.simulation) == ((), plan.runtime == "rehearsal")
    assert usage["completion_tokens"] == 8
    assert len(texts) in range(6, 9)  # a token may be part of a character
    assert (stopped.exit_code, stopped.signals) == (0, ("SIGTERM",))
    assert stopped.port_is_free
    assert process_of(facts.pid) is None
    assert listeners("127.0.0.1", plan.port) == ()
    assert "listening on http://127.0.0.1" in sealed(tmp_path)


@pytest.mark.parametrize("form", ["binary", "embedded"])
def test_llama_server_is_read_back_slot_by_slot(
    form: str, llama_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    facts = started(llama_plan(form, weights="gguf_f16", threads=1)).facts
    found = {each.variable: (each.asked, each.seen, each.verdict) for each in facts.read_back}

    assert found["weights"] == ("F16", "F16", "match")
    assert found["max_model_len"] == ("512", "512", "match")
    assert found["max_sequences"] == ("2", "2", "match")
    assert found["seed"] == ("7", "7", "match")
    assert found["threads"] == ("1", "1", "match")
    assert found["version"][2] == "recorded"


def test_what_a_server_reports_otherwise_is_a_named_difference(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    facts = started(rehearsal_plan(identity={"reported_max_model_len": 256})).facts

    [difference] = facts.differences
    assert (difference.variable, difference.asked, difference.seen) == (
        "max_model_len",
        "512",
        "256",
    )


def test_slow_loading_shows_in_the_phase_that_it_belongs_to(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    told: list[Progress] = []
    plan = rehearsal_plan(lifecycle={"load_s": 1.2, "while_loading": "refuse"})
    facts = started(plan, progress=told.append).facts

    times = {each.name: each.duration_ns or 0 for each in facts.phases}
    assert times["listen"] >= 1_200_000_000  # what the engine was told to take
    assert sum(times.values()) == facts.start_ns
    assert told[0].stage == "listen"
    assert told[0].limit_s == 60.0
    assert {each.seen for each in told} >= {"/health: connection refused"}
    assert told[-1].stage == "first token"


def test_the_folder_tells_what_was_planned_and_what_came(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan, folder = rehearsal_plan(), tmp_path / "launch"
    running = started(plan)
    while_running = json.loads((folder / "launch.json").read_text())
    running.stop()
    afterwards = json.loads((folder / "launch.json").read_text())

    assert read_plan((folder / "plan.json").read_text(), "plan.json") == plan
    assert while_running["state"] == "ready"
    assert while_running["fingerprint"] == plan.fingerprint
    assert afterwards["state"] == "stopped"
    assert afterwards["stopped"]["signals"] == ["SIGTERM"]
    assert afterwards["phases"] == while_running["phases"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "launch.json",
        "plan.json",
        "serve.sh",
        "server.log.zst",
        "settings.json",
    ]


def test_the_server_sees_what_the_plan_names_and_no_other_export(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan = script_plan("print(sorted({*os.environ} - {'LC_CTYPE'}))", env={"MADE": "1"})
    started(plan, environment={"PATH": os.environ["PATH"], "FORGOTTEN": "1"}).stop()

    assert sealed(tmp_path).splitlines()[0] == "['MADE', 'PATH', 'RUNOFF_LAUNCH']"


def test_a_secret_reaches_the_server_and_no_file(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan = script_plan(
        "from urllib.parse import quote\n"
        "secret = os.environ['HF_TOKEN']\n"
        "print(len(secret), secret, quote(secret, safe=''))",
        secret_env=("HF_TOKEN",),
    )
    running = started(plan, secrets={"HF_TOKEN": SECRET})
    running.stop()
    texts = [path.read_bytes() for path in (tmp_path / "launch").iterdir()]

    assert sealed(tmp_path).splitlines()[0] == f"{len(SECRET)} *** ***"
    assert running.facts.environment["HF_TOKEN"] == "***"
    assert not [text for text in texts if SECRET.encode() in text]


def test_a_log_that_may_hold_secrets_is_its_owners_alone(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    started(rehearsal_plan())

    assert (tmp_path / "launch" / "server.log").stat().st_mode & 0o777 == 0o600


def test_a_plan_that_holds_a_secret_is_refused_by_the_secrets_name(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    plan = rehearsal_plan()
    plan = replace(plan, argv=(*plan.argv, f"--key={SECRET}"))

    with pytest.raises(UsageError, match="it holds the value of HF_TOKEN") as refused:
        started(plan, secrets={"HF_TOKEN": SECRET})
    assert SECRET not in str(refused.value)
    assert not (tmp_path / "launch").exists()


def test_an_installed_environment_is_found_in_the_launchs_folder(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    environment = tmp_path / "installed" / "venv"
    (environment / "bin").mkdir(parents=True)
    plan = script_plan()
    (environment / "bin" / "serve").write_text(f'#!/bin/sh\nexec {plan.argv[0]} "$@"\n')
    (environment / "bin" / "serve").chmod(0o755)
    running = started(
        replace(plan, argv=("venv/bin/serve", *plan.argv[1:])), installed=environment
    )

    assert running.is_healthy()


def test_answers_that_may_get_better_are_waited_for(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = script_plan(
        "statuses = [404, 503, 200, 200, 200]\n"
        "answers = ['no', 'no', 'not json at all', {'usage': {'completion_tokens': 0}},"
        "           {'usage': {'completion_tokens': 1}}]",
        status="statuses.pop(0)",
        answer="answers.pop(0)",
    )
    told: list[Progress] = []
    facts = started(plan, progress=told.append).facts

    assert facts.first_token.completion_tokens == 1
    assert "/v1/completions: HTTP 404" in " ".join(each.seen for each in told)


def test_a_server_behind_an_api_key_is_asked_with_it(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = rehearsal_plan(identity={"api_key": "sk-of-the-test"})

    assert started(plan, headers={"authorization": "Bearer sk-of-the-test"}).is_healthy()

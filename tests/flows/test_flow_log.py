"""A flow's run that fails on purpose is told by its sentence; a bug keeps its traceback."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prefect.exceptions import FailedRun

from flows.errors import ExitCode
from flows.final_state import final_state
from flows.flow_log import told_plainly
from flows.prefect_server import PrefectServer, client_settings

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback
REGISTER = """
import sys
from pathlib import Path
from flows.deploying import Pool, register
from flows.deployments import of_campaign

stated = {"campaign": "nowhere.yaml"}
pool = Pool(name="runoff", folder=str(Path.cwd()))
register(sys.argv[1], [of_campaign("compare", "x", stated, None)], pool, ["nowhere.yaml"])
"""


@pytest.mark.e2e
@pytest.mark.xdist_group("prefect")
def test_a_run_that_fails_on_purpose_logs_its_sentence_and_no_traceback(tmp_path: Path) -> None:
    server = PrefectServer(tmp_path / "prefect", os.environ)

    def ask(path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{server.url}/{path}", data, headers)
        with DIRECT.open(request, timeout=30) as answer:
            return json.loads(answer.read())

    def python(*words: str) -> str:
        settings = client_settings(tmp_path / "prefect", server.url)
        done = subprocess.run(
            [sys.executable, "-P", *words],
            cwd=tmp_path,
            env={**os.environ, **settings, "PREFECT_LOGGING_LEVEL": "WARNING"}
            | {"PREFECT_LOGGING_TO_API_ENABLED": "true", "RUNOFF_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            check=True,
            timeout=200,
        )
        return done.stdout + done.stderr

    try:
        server.wait(200)
        python("-c", REGISTER, server.url)
        form = ask("deployments/name/runoff-compare/compare-x")
        clicked = ask(f"deployments/{form['id']}/create_flow_run", {})
        said = python("-m", "prefect.engine", clicked["id"])
        state = ask(f"flow_runs/{clicked['id']}")["state"]
        shown = ask("logs/filter", {"logs": {"flow_run_id": {"any_": [clicked["id"]]}}})
    finally:
        server.stop()

    assert state["type"] == "FAILED"
    assert state["message"].startswith("exit code 2: nowhere.yaml")
    assert [line.partition(" - ")[2] for line in said.splitlines() if line] == [
        state["message"]
    ]
    assert [each["message"] for each in shown] == [state["message"]]


def test_what_anything_else_raised_keeps_its_traceback() -> None:
    logger = logging.getLogger("prefect.flow_runs")
    told_plainly(final_state(ExitCode.REGRESSION, "slower.", ()))

    def logged(error: Exception) -> logging.LogRecord:
        about = (type(error), error, None)
        record = logger.makeRecord(logger.name, logging.ERROR, "", 0, "a fault", (), about)
        assert logger.filter(record)
        return record

    try:
        ours = logged(FailedRun("exit code 6: slower."))
        others = [logged(FailedRun("another")), logged(ZeroDivisionError("slower."))]
    finally:
        logger.filters.pop()

    assert (ours.getMessage(), ours.exc_info) == ("exit code 6: slower.", None)
    assert all(each.exc_info and each.getMessage() == "a fault" for each in others)

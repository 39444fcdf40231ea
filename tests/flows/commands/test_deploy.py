"""``runoff deploy`` and ``runoff up`` refuse what cannot be, before anything is started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from flows import offering, upkeep
from flows.cli import run
from tests.flows.plans import campaign_of


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ((), "no Prefect server is named, and runoff up does not run in this home"),
        (("--cron", "0 6 * * 1"), "no campaign is named"),
        (("--baseline", "RUN"), "no campaign is named"),
        (("campaign.yaml", "--prices-only"), "there is no --baseline"),
        (("campaign.yaml", "--baseline", "RUN", "--versions", "new"), "latest-known or pinned"),
        (("campaign.yaml", "--cron", "0 6 * * 1", "--every", "1h"), "two schedules"),
        (("campaign.yaml", "--every", "1h", "--timezone", "UTC"), "there is no cron line"),
        (("campaign.yaml", "--late", "soon"), "soon"),
        (("campaign.yaml", "--every", "99999999999d"), "longer than ten years"),
        (("campaign.yaml", "campaign.yaml"), "two files have a campaign of this name"),
        (
            ("campaign.yaml", "--baseline", "RUN", "--notify", "team", "--api-url", "http://x"),
            "no block's name",
        ),
        (("nowhere.yaml",), "nowhere.yaml"),
        (("--api-url", "http://127.0.0.1:9/api", "--job-variable", "image"), "KEY=VALUE"),
    ],
)
def test_deploy_refuses_what_makes_no_sense(words, seen, here, capsys):
    campaign_of(here)

    assert run(["deploy", *words]) == 2
    assert seen in capsys.readouterr().err


@pytest.fixture
def registered(here, monkeypatch):
    """Deploys a campaign on a server that takes everything."""
    campaign_of(here)
    monkeypatch.setattr(offering, "register_at", lambda *_given, **_more: ())
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.example:4200/api")
    return lambda *words: run(["deploy", "campaign.yaml", *words])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--cron", "0 6 * * 1"), "at '0 6 * * 1' (UTC)"),
        (
            ("--cron", "0 6 * * 1", "--timezone", "Europe/Berlin"),
            "at '0 6 * * 1' (Europe/Berlin)",
        ),
        (("--every", "7d"), "every 7d"),
        (("--every", "1.5 h"), "every 1.5 h"),
    ],
)
def test_deploy_says_the_schedule_that_it_registered(registered, capsys, words, told):
    assert registered(*words) == 0

    (line,) = [each for each in capsys.readouterr().err.splitlines() if "schedule" in each]
    assert line.startswith("schedule of compare-")
    assert line.endswith(f": {told}")


def test_deploy_says_how_a_worker_finds_the_server(registered, capsys):
    assert registered("--pool", "berlin", "--pool-type", "docker") == 0

    assert capsys.readouterr().err.endswith(
        "run by workers of pool 'berlin': PREFECT_API_URL=http://prefect.example:4200/api "
        "prefect worker start --pool berlin --type docker\n"
    )


def test_deploy_asks_for_no_second_worker_beside_that_of_up(registered, monkeypatch, capsys):
    url = "http://prefect.example:4200/api"
    monkeypatch.setattr(
        upkeep, "running", lambda _state: upkeep.Up(pid=1, api_url=url, ui_url="")
    )

    assert registered() == 0
    assert capsys.readouterr().err == f"at {url}, run by the worker of runoff up\n"

    assert registered("--pool", "berlin") == 0
    assert "prefect worker start --pool berlin" in capsys.readouterr().err


def test_prefect_reports_nothing_to_anybody_when_something_is_registered(here, monkeypatch):
    from flows import automations, deploying  # Prefect takes a second

    for name in offering.QUIET:
        monkeypatch.setenv(name, "")  # put back at the end
    monkeypatch.setenv("PREFECT_API_URL", "")
    seen = []
    monkeypatch.setattr(automations, "require_blocks", lambda *_given: None)
    monkeypatch.setattr(
        deploying, "register", lambda *_given: seen.append(os.environ["DO_NOT_TRACK"]) or ()
    )
    where = {"pool": "p", "pool_type": "process", "folder": here, "job_variables": {}}

    offering.register_at("http://127.0.0.1:9/api", (), (), **where)

    assert seen == ["1"]


def test_up_refuses_a_port_that_is_taken(here, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert run(["up", "--port", str(port)]) == 2

    assert "Name another port or address" in capsys.readouterr().err
    assert not list(here.rglob("*.db"))


def test_up_in_a_home_that_cannot_be_written_says_so(here, monkeypatch, capsys):
    (here / "file").touch()
    monkeypatch.setenv("RUNOFF_HOME", str(here / "file"))

    assert run(["up"]) == 8

    said = capsys.readouterr().err
    assert f"{here}/file/state/up: the system refuses it: Not a directory." in said
    assert "RUNOFF_HOME" in said


def test_up_refuses_a_campaign_that_cannot_be_read(here, capsys):
    assert run(["up", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("words", "code", "seen"),
    [
        ((), 8, "Prefect's server does not answer as it should"),
        (("campaign.yaml", "--cron", "each monday"), 2, "it is no cron line"),
        (("campaign.yaml", "--cron", "0 6 31 2 *"), 2, "names no day that comes"),
    ],
)
def test_deploy_says_what_it_could_not_register(words, code, seen, here):
    campaign_of(here)

    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "flows.cli"),
            *("deploy", *words, "--api-url", "http://127.0.0.1:9/api"),
        ],
        env={**os.environ, "PREFECT_HOME": str(here / "prefect")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert seen in done.stderr
    assert "Traceback" not in done.stderr

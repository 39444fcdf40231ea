from __future__ import annotations

import datetime as dt
import shlex
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from deploy_templates.first_boot import FIRST_S, HEARTBEAT, first_boot

EXPIRES = dt.datetime(2026, 11, 30, 14, 0, tzinfo=dt.UTC)
HOSTS = Path(__file__).parents[2] / "deploy_templates" / "hosts"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n"


def told(**more: str) -> str:
    return first_boot(expires=EXPIRES, host_key=KEY, host_key_public="ssh-ed25519 AAAA", **more)


def test_a_machine_bears_the_host_key_that_is_known_at_home():
    seen = yaml.safe_load(told())

    assert told().startswith("#cloud-config\n")
    assert seen["ssh_keys"] == {"ed25519_private": KEY, "ed25519_public": "ssh-ed25519 AAAA"}
    assert (seen["ssh_deletekeys"], seen["ssh_pwauth"]) == (True, False)


def test_a_machine_knows_its_end_and_looks_for_it_every_minute():
    seen = yaml.safe_load(told())
    files = {entry["path"]: entry for entry in seen["write_files"]}

    assert files["/var/lib/runoff/expires"]["content"] == f"{int(EXPIRES.timestamp())}\n"
    assert files["/usr/local/sbin/runoff-dead-man"]["permissions"] == "0755"
    assert files[HEARTBEAT]["permissions"] == "0755"
    assert (
        "OnUnitActiveSec=1min" in files["/etc/systemd/system/runoff-dead-man.timer"]["content"]
    )
    assert seen["runcmd"][-1] == ["systemctl", "enable", "--now", "runoff-dead-man.timer"]


def test_a_machine_that_nobody_enters_lives_half_an_hour_from_its_boot(machine):
    state, run, off = machine
    first, *_ = yaml.safe_load(told())["runcmd"]
    (state / "expires").write_text(at(10 * 3600))

    assert first == [HEARTBEAT, str(FIRST_S)]
    assert run("heartbeat.sh", *first[1:]) == 0
    left_s = int((state / "deadline").read_text()) - time.time()
    run("dead-man.sh")
    assert (not off.exists(), FIRST_S) == (True, 1800)
    assert 0 < FIRST_S - left_s < 60
    (state / "deadline").write_text(at(-1))
    run("dead-man.sh")
    assert off.exists()


def test_the_first_expiry_does_not_outlive_the_whole_one(machine):
    state, run, off = machine
    (state / "expires").write_text(at(-1))

    run("heartbeat.sh", str(FIRST_S))
    run("dead-man.sh")

    assert off.exists()


def test_a_proxy_is_for_everything_but_the_machine_itself_and_its_metadata():
    seen = yaml.safe_load(told(proxy="http://proxy.example:3128"))
    (environment,) = [e for e in seen["write_files"] if e["path"] == "/etc/environment"]

    assert environment["append"]
    assert "\nhttps_proxy=http://proxy.example:3128\n" in environment["content"]
    assert "169.254.169.254" in environment["content"]
    assert seen["apt"]["http_proxy"] == "http://proxy.example:3128"
    assert "apt" not in yaml.safe_load(told())


def test_a_machine_is_told_the_same_every_time():
    assert told() == told()


@pytest.fixture
def machine(tmp_path):
    """A machine of which only the switch is there; ``shutdown`` notes that it was called."""
    state, programs = tmp_path / "state", tmp_path / "programs"
    state.mkdir()
    programs.mkdir()
    (programs / "shutdown").write_text(
        f'#!/bin/sh\necho "$*" >>{shlex.quote(str(tmp_path))}/off\n'
    )
    (programs / "shutdown").chmod(0o755)
    environment = {"RUNOFF_DEAD_MAN": str(state), "PATH": f"{programs}:/usr/bin:/bin"}

    def run(script: str, *words: str) -> int:
        return subprocess.run(
            ["sh", str(HOSTS / script), *words], env=environment, check=False
        ).returncode

    return state, run, tmp_path / "off"


def at(seconds: int) -> str:
    return f"{int(time.time()) + seconds}\n"


@pytest.mark.parametrize(
    ("expires", "deadline", "is_off"),
    [
        (at(3600), None, False),
        (at(-1), None, True),
        (at(3600), at(-1), True),
        (at(3600), at(600), False),
        (at(-1), at(3600), True),
        (at(3600), "", False),
        (at(3600), "soon\n", False),
        ("never\n", None, True),
        (None, None, True),
    ],
    ids=[
        "in time",
        "expired",
        "no heartbeat",
        "heartbeat",
        "a heartbeat does not outlive the expiry",
        "torn heartbeat",
        "odd heartbeat",
        "unreadable expiry",
        "no expiry",
    ],
)
def test_the_switch_ends_the_machine_in_time(machine, expires, deadline, is_off):
    state, run, off = machine
    for name, text in (("expires", expires), ("deadline", deadline)):
        if text is not None:
            (state / name).write_text(text)

    run("dead-man.sh")

    assert off.exists() == is_off
    assert not is_off or off.read_text() == "-P now\n"


def test_a_heartbeat_moves_the_end_both_ways(machine):
    state, run, off = machine
    (state / "expires").write_text(at(3600))

    assert run("heartbeat.sh", "0") == 0
    run("dead-man.sh")
    assert off.exists()
    off.unlink()
    assert run("heartbeat.sh", "600") == 0
    run("dead-man.sh")

    assert not off.exists()
    assert [path.name for path in sorted(state.iterdir())] == ["deadline", "expires"]


@pytest.mark.parametrize("words", [[], ["soon"], ["-5"]])
def test_a_heartbeat_that_is_no_number_changes_nothing(machine, words):
    state, run, _ = machine
    (state / "deadline").write_text("1\n")

    assert run("heartbeat.sh", *words) == 2
    assert (state / "deadline").read_text() == "1\n"


def test_a_machine_that_is_taken_over_gets_the_new_orders_expiry(machine):
    state, run, off = machine
    (state / "expires").write_text(at(-1))

    assert run("heartbeat.sh", "600", at(3600).strip()) == 0
    run("dead-man.sh")

    assert not off.exists()
    assert run("heartbeat.sh", "600", "later") == 2

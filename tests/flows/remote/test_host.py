"""A host is equipped once, asked over whatever connection there is, and says what it lacks."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from flows.errors import InfrastructureError
from flows.remote.facts import remote_facts, remote_look
from flows.remote.lost import HostLostError

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


def agents_of(host) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                kit = host.equipped.kit.encode()
                env = (entry / "environ").read_bytes()
                if b"flows.remote.agent" in words and b"sh\0-c" not in words and kit in env:
                    found.append(int(entry.name))
    return found


def test_a_host_is_described_by_what_its_own_kernel_says(box):
    facts = remote_facts(box, "ssh-box")

    assert facts.host_id == "ssh-box"
    assert facts.platform.kernel == os.uname().release
    assert facts.cpu.allowed == tuple(sorted(os.sched_getaffinity(0)))


def test_who_uses_a_host_is_seen_there(box):
    load = remote_look(box, seconds=0.1)

    assert load.samples == 1
    assert load.cpus == os.cpu_count()


def test_the_second_connection_finds_the_kit_there(box, shared_host, remote):
    kits = shared_host.root / "kits"
    before = {path: path.stat().st_mtime_ns for path in kits.rglob("*.py")}

    again = remote(shared_host)

    assert again.equipped.kit == box.equipped.kit
    assert {path: path.stat().st_mtime_ns for path in kits.rglob("*.py")} == before
    assert list(kits.glob("*.zip*")) == []


def test_a_cut_connection_is_made_anew(shared_host, proxied, remote):
    proxy = proxied(shared_host)
    host = remote(shared_host, port=proxy.port)
    host.ask("clock")

    proxy.cut()

    assert host.ask("clock") > 0


def test_a_restarted_sshd_is_waited_for(make_host, remote):
    there = make_host()
    host = remote(there)
    host.ask("clock")

    there.restart()

    assert host.ask("clock") > 0


def test_a_killed_agent_is_started_again(shared_host, remote):
    host = remote(shared_host)
    before = set(agents_of(host))

    for pid in before:
        os.kill(pid, signal.SIGKILL)

    assert host.ask("clock") > 0
    assert set(agents_of(host)).isdisjoint(before)


def test_a_host_that_stays_away_is_lost_when_patience_is_over(make_host, remote):
    there = make_host()
    host = remote(there, patience_s=0.5)
    host.ask("clock")
    there.stop()

    with pytest.raises(HostLostError, match="no connection"):
        host.ask("clock")


def test_a_host_that_was_never_there_is_told_at_once(make_host, remote):
    there = make_host()
    there.stop()

    with pytest.raises(HostLostError, match="no connection"):
        remote(there, patience_s=3600.0).ask("clock")


def test_a_host_without_a_python_that_is_new_enough_is_told_what_it_needs(shared_host, remote):
    with pytest.raises(InfrastructureError, match=r"no Python of 3\.11 .*python2\.7"):
        remote(shared_host, python="python2.7").ask("clock")


def test_an_older_python_is_named_with_its_release(shared_host, remote, tmp_path):
    older = tmp_path / "python3.9"
    older.write_text('#!/bin/sh\necho "python3.9 is 3.9.2; " >&2\nexit 3\n')
    older.chmod(0o755)

    with pytest.raises(InfrastructureError, match=r"\(python3\.9 is 3\.9\.2\)"):
        remote(shared_host, python=str(older)).ask("clock")


def test_a_question_that_the_host_refuses_is_refused_here_with_its_name(box):
    with pytest.raises(InfrastructureError, match=r"host 'box', /proc/none: No such file"):
        box.ask("lay", folder="/proc/none/x", files={"a": "b"}, links={})


def test_a_full_disk_takes_no_kit_and_says_so(make_host, remote, small_disk):
    there = make_host(root_at=small_disk)

    with pytest.raises(InfrastructureError, match="free space"):
        remote(there).ask("clock")


def test_questions_are_answered_beside_a_long_copy(shared_host, proxied, remote, tmp_path):
    proxy = proxied(shared_host)
    host = remote(shared_host, port=proxy.port)
    host.ask("clock")
    source = tmp_path / "weights"
    source.write_bytes(bytes(8_000_000))
    proxy.delay_s = 0.05
    copy = threading.Thread(target=host.put, args=(source, str(tmp_path / "there")))
    copy.start()

    assert host.ask("clock") > 0

    assert copy.is_alive()
    proxy.delay_s = 0.0
    copy.join()
    assert (tmp_path / "there").stat().st_size == 8_000_000


def test_a_copy_that_is_cut_begins_again(cut_host, tmp_path):
    source = tmp_path / "weights"
    source.write_bytes(bytes(3_000_000))

    cut_host(500_000).put(source, str(tmp_path / "there"))

    assert (tmp_path / "there").read_bytes() == source.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there", "weights"]


def test_a_slow_way_is_told_in_the_clocks_error(shared_host, proxied, remote):
    proxy = proxied(shared_host)
    proxy.delay_s = 0.02
    host = remote(shared_host, port=proxy.port)

    offset = host.offset()

    assert offset.error_ns >= 20_000_000
    assert abs(offset.ahead_ns) <= offset.error_ns

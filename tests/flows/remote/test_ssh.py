"""Connections to a real sshd: who may answer, how commands end, how files travel."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from flows.errors import InfrastructureError, UsageError
from flows.remote.lost import HostLostError
from flows.ssh import connect
from tests.flows.remote.hosts import free_port, make_key

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


class TestWhoAnswers:
    def test_an_unknown_host_is_not_entered_and_its_fingerprint_is_shown(
        self, shared_host, tmp_path
    ):
        (tmp_path / "none").touch()
        shown = subprocess.run(
            ["ssh-keygen", "-l", "-f", shared_host.folder / "host_key.pub"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()[1]

        with pytest.raises(InfrastructureError, match="has none for") as caught:
            connect(shared_host.login(known_hosts=(str(tmp_path / "none"),)))

        assert shown in str(caught.value)

    def test_a_changed_key_is_refused_with_both_fingerprints(self, shared_host, tmp_path):
        other = make_key(tmp_path / "other")
        known = tmp_path / "known"
        known.write_text(f"[127.0.0.1]:{shared_host.port} {other}")

        with pytest.raises(InfrastructureError, match=r"SHA256:.* expected .*SHA256:"):
            connect(shared_host.login(known_hosts=(str(known),)))

    def test_a_key_of_another_kind_than_the_known_one_is_refused_too(
        self, shared_host, tmp_path
    ):
        other = make_key(tmp_path / "other", "ecdsa")
        known = tmp_path / "known"
        known.write_text(f"[127.0.0.1]:{shared_host.port} {other}")

        with pytest.raises(InfrastructureError, match="expected ecdsa-sha2-nistp256 SHA256:"):
            connect(shared_host.login(known_hosts=(str(known),)))

    def test_a_pinned_key_is_the_only_one_that_counts(self, shared_host, tmp_path):
        with connect(shared_host.login(known_hosts=(), pinned=shared_host.host_key)) as opened:
            assert opened.is_alive
        with pytest.raises(InfrastructureError, match="expected"):
            connect(shared_host.login(pinned=make_key(tmp_path / "other")))

    def test_hashed_known_hosts_are_read(self, shared_host, tmp_path):
        known = tmp_path / "known"
        known.write_text(shared_host.known_hosts.read_text())
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)

        with connect(shared_host.login(known_hosts=(str(known),))) as opened:
            assert opened.run("true").code == 0


def test_no_weak_algorithm_is_offered(connection):
    transport = connection._transport
    offered = [*transport.preferred_ciphers, *transport.preferred_macs]
    offered += [*transport.preferred_kex, *transport.preferred_keys]
    weak = ("cbc", "3des", "md5", "hmac-sha1", "dss", "group14-sha1", "group1-")

    assert "aes256-ctr" in offered
    assert [name for name in offered if any(word in name for word in weak)] == []


class TestWhoIsLetIn:
    def test_a_key_that_the_host_does_not_know_is_told_by_name(self, shared_host, tmp_path):
        make_key(tmp_path / "stranger")

        with pytest.raises(
            InfrastructureError, match=r"does not let .* in: .*stranger: refused"
        ):
            connect(shared_host.login(keys=(str(tmp_path / "stranger"),)))

    def test_a_locked_key_is_told_with_what_unlocks_it(self, shared_host, tmp_path):
        key = tmp_path / "locked"
        subprocess.run(["ssh-keygen", "-q", "-N", "secret words", "-f", key], check=True)

        with pytest.raises(InfrastructureError, match="unlock it with ssh-add"):
            connect(shared_host.login(keys=(str(key),)))

    def test_without_any_key_that_is_said(self, shared_host):
        with pytest.raises(InfrastructureError, match="there is no key to show"):
            connect(shared_host.login(keys=()))

    def test_keys_of_an_agent_are_shown(self, shared_host, tmp_path, monkeypatch):
        socket = tmp_path / "agent"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
        try:
            while not socket.exists():
                assert agent.poll() is None
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            subprocess.run(
                ["ssh-add", "-q", shared_host.user_key], check=True, capture_output=True
            )
            with connect(shared_host.login(keys=(), uses_agent=True)) as opened:
                assert opened.run("true").code == 0
        finally:
            agent.terminate()
            agent.wait()

    def test_known_hosts_that_cannot_be_read_are_not_passed_over(self, shared_host, tmp_path):
        known = (str(tmp_path), *shared_host.login().known_hosts)

        with pytest.raises(UsageError, match="cannot be read: Is a directory"):
            connect(shared_host.login(known_hosts=known))

    def test_a_host_that_is_not_there_is_lost_and_told_with_its_address(self, shared_host):
        port = free_port()

        with pytest.raises(HostLostError, match=f"no connection to 127.0.0.1:{port}"):
            connect(shared_host.login(port=port))

    def test_tests_reach_no_other_machine(self, shared_host):
        with pytest.raises(UsageError, match="RUNOFF_LOOPBACK_ONLY=1"):
            connect(shared_host.login(address="192.0.2.1"))

    def test_a_host_behind_another_one_is_reached_through_it(self, shared_host, far_host):
        jump = shared_host.login(name="jump")

        with connect(far_host.login(jump=jump)) as opened:
            assert opened.run("echo there").text == "there\n"


class TestCommands:
    @pytest.mark.parametrize("code", [0, 7, 255])
    def test_a_command_ends_with_its_code(self, connection, code):
        assert connection.run(f"exit {code}").code == code

    def test_a_killed_command_is_told_from_a_lost_connection(self, connection):
        assert connection.run("sh -c 'kill -9 $$'").code == 128 + 9
        assert connection.is_alive

    def test_both_streams_come_whole_however_much_there_is(self, connection):
        done = connection.run(
            "head -c 8000000 /dev/zero >&2; head -c 3000000 /dev/zero; echo out; echo err >&2"
        )

        assert (len(done.output), len(done.complaints)) == (3_000_004, 8_000_004)

    def test_what_is_given_to_a_command_is_read_by_it(self, connection):
        assert connection.run("cat", stdin=b"some words").output == b"some words"

    def test_what_start_files_print_is_left_out(self, make_host, tmp_path):
        noise = tmp_path / "noise"
        noise.write_text("echo Welcome; echo to this host >&2\n")
        host = make_host(environment={"BASH_ENV": str(noise)})

        with connect(host.login()) as opened:
            assert opened.run("echo mine; echo $BASH_ENV").text == "mine\n\n"

    def test_a_command_that_takes_too_long_is_given_up(self, connection):
        with pytest.raises(InfrastructureError, match=r"it took longer than 0.3 s"):
            connection.run("sleep 30", limit_s=0.3)

    def test_a_connection_that_is_cut_meanwhile_is_lost(self, shared_host, proxied):
        proxy = proxied(shared_host)
        with connect(shared_host.login(port=proxy.port)) as opened:
            proxy.cut_after(4000)
            with pytest.raises(HostLostError):
                opened.run("head -c 1000000 /dev/zero; sleep 30")

    def test_a_host_that_no_longer_answers_is_lost_within_the_time(self, shared_host, proxied):
        proxy = proxied(shared_host)
        with connect(shared_host.login(port=proxy.port)) as opened:
            pipe = opened.pipe("cat")
            pipe.send(b"one", 5.0)
            assert pipe.line(5.0) == b"one"
            proxy.is_deaf.set()
            with pytest.raises(HostLostError):
                pipe.line(0.3)


class TestFiles:
    def test_a_file_goes_there_and_back_as_it_is(self, connection, tmp_path):
        source, there, back = tmp_path / "a", tmp_path / "there", tmp_path / "back"
        source.write_bytes(os.urandom(3_000_000))
        digest = hashlib.sha256(source.read_bytes()).hexdigest()

        assert connection.put(source, str(there)) == digest
        assert connection.get(str(there), back) == digest
        assert back.read_bytes() == source.read_bytes()
        assert there.stat().st_mode & 0o777 == 0o600

    def test_names_with_blanks_and_quotes_are_only_names(self, connection, tmp_path):
        source, there = tmp_path / "a", tmp_path / "it's $(here) \\ now"
        source.write_text("x")

        connection.put(source, str(there))

        assert there.read_text() == "x"

    def test_a_file_that_nobody_else_may_read_stays_so(self, connection, tmp_path):
        (tmp_path / "there").write_text("a log that is not sealed yet")
        here = tmp_path / "here"
        here.touch(mode=0o600)

        connection.get(str(tmp_path / "there"), here)

        assert here.stat().st_mode & 0o777 == 0o600
        assert here.read_text() == "a log that is not sealed yet"

    def test_a_file_that_is_not_there_leaves_nothing_here(self, connection, tmp_path):
        with pytest.raises(InfrastructureError, match="No such file"):
            connection.get(str(tmp_path / "none"), tmp_path / "got")

        assert list(tmp_path.iterdir()) == []

    def test_a_cut_upload_leaves_the_old_file_as_it_was(self, shared_host, proxied, tmp_path):
        source, there = tmp_path / "a", tmp_path / "there"
        source.write_bytes(bytes(4_000_000))
        there.write_text("old")
        proxy = proxied(shared_host)
        with connect(shared_host.login(port=proxy.port)) as opened:
            proxy.cut_after(500_000)
            with pytest.raises(HostLostError):
                opened.put(source, str(there))

        assert there.read_text() == "old"

    def test_a_cut_download_leaves_nothing_here(self, shared_host, proxied, tmp_path):
        source, here = tmp_path / "a", tmp_path / "here" / "got"
        source.write_bytes(bytes(4_000_000))
        here.parent.mkdir()
        proxy = proxied(shared_host)
        with connect(shared_host.login(port=proxy.port)) as opened:
            proxy.cut_after(500_000)
            with pytest.raises(HostLostError):
                opened.get(str(source), here)

        assert list(here.parent.iterdir()) == []

    def test_a_full_disk_refuses_a_file_and_keeps_no_part_of_it(
        self, connection, small_disk, tmp_path
    ):
        source = tmp_path / "a"
        source.write_bytes(bytes(3_000_000))

        with pytest.raises(InfrastructureError, match="Look at its free space"):
            connection.put(source, f"{small_disk}/there")

        assert list(Path(small_disk).iterdir()) == []

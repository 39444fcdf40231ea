"""A host is entered as the OpenSSH configuration says."""

from __future__ import annotations

import pytest

from flows.errors import UsageError
from flows.remote.login import Login
from flows.ssh import aliases, login_of

CONFIG = """
Include more/*.conf
Host gpu
  HostName 10.0.0.7
  Port 2222
  User ada
  IdentityFile ~/.ssh/gpu_key
  IdentitiesOnly yes
  UserKnownHostsFile ~/.ssh/known_gpu
  ProxyJump first,bob@second:2200
Host command
  ProxyCommand nc %h %p
Host *.lab
  User lab
Host *
  HostKeyAlias one-name
"""


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / ".ssh" / "more"
    folder.mkdir(parents=True)
    (tmp_path / ".ssh" / "config").write_text(CONFIG)
    (folder / "a.conf").write_text("Host first\n  HostName 10.0.0.1\n  User eve\n")
    return {"HOME": str(tmp_path), "USER": "me"}


def test_an_alias_has_its_address_user_port_keys_and_files(home):
    login = login_of("gpu", home)

    assert (login.address, login.user, login.port) == ("10.0.0.7", "ada", 2222)
    assert login.keys == (f"{home['HOME']}/.ssh/gpu_key",)
    assert login.known_hosts[0] == f"{home['HOME']}/.ssh/known_gpu"
    assert not login.uses_agent
    assert login.key_name == "one-name"


def test_a_chain_of_jumps_goes_through_the_first_one_first(home):
    jump = login_of("gpu", home).jump

    assert (jump.address, jump.user, jump.port) == ("second", "bob", 2200)
    assert (jump.jump.address, jump.jump.user) == ("10.0.0.1", "eve")
    assert jump.jump.jump is None


def test_what_is_written_with_the_name_comes_before_the_configuration(home):
    login = login_of("root@a.lab:2022", home)

    assert (login.user, login.address, login.port) == ("root", "a.lab", 2022)


def test_without_a_configuration_the_usual_keys_and_files_are_taken(tmp_path):
    login = login_of("box", {"HOME": str(tmp_path), "USER": "me"})

    assert (login.address, login.user, login.port) == ("box", "me", 22)
    assert [key.rpartition("/")[2] for key in login.keys] == [
        "id_ed25519",
        "id_ecdsa",
        "id_rsa",
    ]
    assert login.known_hosts[0] == f"{tmp_path}/.ssh/known_hosts"
    assert login.uses_agent


def test_keys_that_the_machine_knows_for_all_users_count_too(tmp_path):
    """A company's known and revoked keys lie there."""
    assert "/etc/ssh/ssh_known_hosts" in login_of("box", {"HOME": str(tmp_path)}).known_hosts

    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host *\n  GlobalKnownHostsFile /srv/known\n")

    assert login_of("box", {"HOME": str(tmp_path)}).known_hosts[-1] == "/srv/known"


def test_a_jump_that_leads_back_to_itself_is_told(tmp_path):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host *\n  ProxyJump bastion\n")

    with pytest.raises(UsageError, match="its ProxyJump has no end: gpu → bastion → bastion"):
        login_of("gpu", {"HOME": str(tmp_path)})


def test_aliases_are_those_without_a_wildcard_also_of_included_files(home):
    assert aliases(home) == ("command", "first", "gpu")


def test_a_proxy_command_is_refused_with_the_way_round_it(home):
    with pytest.raises(UsageError, match="Use ProxyJump"):
        login_of("command", home)


@pytest.mark.parametrize(
    "text",
    [
        "garbage",
        'Host "box',
        "Match",
        "Host box\n  CanonicalizeHostname yes",
    ],
)
def test_a_configuration_that_is_none_is_the_users_error(text, tmp_path):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(f"{text}\n")

    with pytest.raises(UsageError, match="it cannot be understood"):
        login_of("box", {"HOME": str(tmp_path)})


def test_no_file_of_known_hosts_is_no_file(tmp_path):
    (tmp_path / ".ssh").mkdir()
    words = "Host box\n  GlobalKnownHostsFile none\n  UserKnownHostsFile none\n"
    (tmp_path / ".ssh" / "config").write_text(words)

    assert login_of("box", {"HOME": str(tmp_path)}).known_hosts == ()


@pytest.mark.parametrize("port", ["70000", "x"])
def test_a_port_that_is_none_is_told_with_its_host(tmp_path, port):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(f"Host box\n  Port {port}\n")

    with pytest.raises(UsageError, match=f"host 'box': its Port is '{port}'"):
        login_of("box", {"HOME": str(tmp_path)})


@pytest.mark.parametrize("name", ["", "user@", "box:port", "box:0", "box:65536", "box:²"])
def test_what_is_no_host_is_refused(name, home):
    with pytest.raises(UsageError, match="it is no host"):
        login_of(name, home)


def test_files_that_include_each_other_are_told(tmp_path):
    folder = tmp_path / ".ssh"
    folder.mkdir()
    (folder / "config").write_text("Include config\n")

    with pytest.raises(UsageError, match="Includes do not end"):
        login_of("box", {"HOME": str(tmp_path)})


def test_a_named_configuration_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        login_of("box", {"HOME": str(tmp_path), "RUNOFF_SSH_CONFIG": str(tmp_path / "none")})


def test_a_login_is_shown_as_a_person_would_write_it():
    assert str(Login(name="x", address="box", user="me")) == "me@box"
    assert str(Login(name="x", address="box", user="me", port=2222)) == "me@box:2222"

"""Host keys are trusted only where a file of known hosts, or a pin, says so."""

from __future__ import annotations

import base64
import hashlib
import hmac
import subprocess

import pytest

from flows.errors import InfrastructureError, UsageError
from flows.remote.known_hosts import (
    HostKey,
    KnownKeys,
    known_keys,
    pinned_key,
    require_known,
)
from flows.remote.login import Login

BODY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ3v1wSG9W9Uvn9n9vJ0eZxGQbXn0W0cM1lJf3vB0aA"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ3v1wSG9W9Uvn9n9vJ0eZxGQbXn0W0cM1lJf3vB0aB"
KEY = HostKey("ssh-ed25519", BODY)
LOGIN = Login(name="box", address="10.0.0.5", user="me", known_hosts=("known",))


@pytest.mark.parametrize(
    ("names", "name", "fits"),
    [
        ("box", "box", True),
        ("BOX,10.0.0.5", "box", True),
        ("[box]:2222", "[box]:2222", True),
        ("[box]:2222", "box", False),
        ("box", "[box]:2222", False),
        ("*.example.com", "a.example.com", True),
        ("*.example.com,!b.example.com", "b.example.com", False),
        ("bo?", "box", True),
        ("boxes", "box", False),
    ],
)
def test_a_line_is_about_the_hosts_that_its_patterns_name(names, name, fits):
    found = known_keys([f"{names} ssh-ed25519 {BODY} a comment\n"], name)

    assert found.trusted == ((KEY,) if fits else ())


def test_hashed_names_are_found_as_ssh_keygen_writes_them(tmp_path):
    file = tmp_path / "known"
    file.write_text(f"[box]:2222 ssh-ed25519 {BODY}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    text = file.read_text()

    assert "box" not in text
    assert known_keys([text], "[box]:2222").trusted == (KEY,)
    assert known_keys([text], "other").trusted == ()


def test_comments_blank_lines_and_nonsense_are_passed_over():
    text = f"# box ssh-ed25519 {BODY}\n\nbox\nbox ssh-ed25519 not-base64!\n|1|x|y z {BODY}\n"

    assert known_keys([text], "box") == KnownKeys(trusted=())


def test_a_hashed_name_is_found_however_it_is_written():
    """OpenSSH hashes names in lower case."""
    salt, name = b"0123456789abcdefghij", "gpu.example"
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    words = "|".join(base64.b64encode(each).decode() for each in (salt, digest))

    assert known_keys([f"|1|{words} ssh-ed25519 {BODY}"], "GPU.Example").trusted == (KEY,)


def test_a_revoked_key_is_refused_though_it_is_listed_too():
    text = f"box ssh-ed25519 {BODY}\n@revoked * ssh-ed25519 {BODY}\n"

    with pytest.raises(InfrastructureError, match="which is revoked"):
        require_known(KEY, known_keys([text], "box"), LOGIN)


def test_a_certificate_authority_is_no_host_key():
    text = f"@cert-authority box ssh-ed25519 {BODY}\n"

    assert known_keys([text], "box").trusted == ()


def test_another_key_than_the_known_one_is_told_with_both_fingerprints():
    seen = HostKey("ssh-ed25519", OTHER)

    with pytest.raises(InfrastructureError) as caught:
        require_known(seen, KnownKeys(trusted=(KEY,)), LOGIN)

    assert f"it shows the key {seen.fingerprint}, expected {KEY.fingerprint}" in str(
        caught.value
    )


def test_the_fingerprint_is_the_one_that_ssh_keygen_shows(tmp_path):
    file = tmp_path / "key.pub"
    file.write_text(f"ssh-ed25519 {BODY}\n")
    told = subprocess.run(
        ["ssh-keygen", "-l", "-f", file], check=True, capture_output=True, text=True
    )

    assert KEY.fingerprint.split()[1] == told.stdout.split()[1]


@pytest.mark.parametrize("text", [f"ssh-ed25519 {BODY}", f"box ssh-ed25519 {BODY} comment"])
def test_a_pin_is_read_with_a_hosts_name_or_without(text):
    assert pinned_key(text, "x") == KEY


def test_a_pin_that_is_no_key_is_refused():
    with pytest.raises(UsageError, match="is no host key"):
        pinned_key("SHA256:abc", "x")

"""Detached signatures with SSH keys, by OpenSSH's own ``ssh-keygen``.

What is verified here can be verified without runoff:
``ssh-keygen -Y verify -f allowed_signers -I WHO -n runoff -s signoff.json.sig < signoff.json``
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flows.errors import UsageError

NAMESPACE: Final = "runoff"
_BLOCK = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n[A-Za-z0-9+/=\n]+-----END SSH SIGNATURE-----\n"
)
_KEY = re.compile(r'Good "[^"]*" signature (?:for \S+ )?with (\S+) key (SHA256:\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a signature shows. ``who`` is the name that the list of allowed signers gives.

    ``who`` is None where no list was given or the key is not on it; ``key`` is None where
    the signature is not one of these bytes.
    """

    key: str | None
    who: str | None
    seen: str


def sign(content: bytes, key: Path) -> bytes:
    """The armoured signature of the bytes with a private key (or a public one of an agent).

    Raises
    ------
    UsageError
        Where ``ssh-keygen`` is not installed or will not sign with this key.
    """
    done = _run(["-Y", "sign", "-f", str(key), "-n", NAMESPACE], content)
    if done.returncode or not blocks(done.stdout):
        raise UsageError(
            f"--key {key}",
            f"ssh-keygen does not sign with it: {_last_line(done)}",
            "Name a private key, or a public one whose private key the agent holds",
        )
    return blocks(done.stdout)[0]


def blocks(content: bytes) -> tuple[bytes, ...]:
    """Each armoured signature of a file."""
    return tuple(_BLOCK.findall(content.replace(b"\r\n", b"\n")))


def verify(content: bytes, signature: bytes, allowed: Path | None) -> Verified:
    """Whether the signature is of these bytes, by which key, and of whom."""
    with tempfile.TemporaryDirectory(prefix="runoff-") as aside:
        place = Path(aside) / "signature"
        place.write_bytes(signature)
        held = ["-n", NAMESPACE, "-s", str(place)]
        done = _run(["-Y", "check-novalidate", *held], content)
        good = _KEY.search(done.stdout.decode(errors="replace"))
        if done.returncode or good is None:
            return Verified(key=None, who=None, seen=f"it is not of this: {_last_line(done)}")
        key = f"{good[1]} {good[2]}"
        if allowed is None:
            return Verified(
                key=key, who=None, seen=f"good, by the key {key}; whose is not known"
            )
        for who in _principals(place, allowed):
            words = ["-Y", "verify", "-f", str(allowed), "-I", who, *held]
            if not _run(words, content).returncode:
                return Verified(key=key, who=who, seen=f"good, by {who} ({key})")
    return Verified(key=key, who=None, seen=f"by the key {key}, which {allowed} does not allow")


def _principals(signature: Path, allowed: Path) -> tuple[str, ...]:
    if not allowed.is_file():
        raise UsageError(
            f"--allowed-signers {allowed}", "there is no such file", "Name a file of keys"
        )
    words = ["-Y", "find-principals", "-f", str(allowed), "-s", str(signature)]
    done = _run(words, b"")
    return (
        tuple(done.stdout.decode(errors="replace").splitlines()) if not done.returncode else ()
    )


def _run(words: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise UsageError(
            "ssh-keygen",
            "it is not installed",
            "Install OpenSSH's client, or leave signatures out",
        )
    return subprocess.run(  # noqa: S603 - OpenSSH's program; the user's file names as words
        [program, *words], input=content, capture_output=True, check=False
    )


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return said[-1].strip() if said else f"it ended with {done.returncode}"

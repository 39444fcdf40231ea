"""Which host keys are trusted, from files of known hosts (sshd(8)); hashed names included."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from flows.errors import InfrastructureError, UsageError
from flows.remote.login import Login

_HASHED: Final = "|1|"
_REVOKED: Final = "@revoked"


@dataclass(frozen=True, slots=True)
class HostKey:
    """A host's public key: its type, and its body in base64."""

    type: str
    body: str

    @property
    def fingerprint(self) -> str:
        """The key for a person, as ssh shows it: type and SHA-256 of the body."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return f"{self.type} SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """Keys of one host: those that it may show, and those that it may not."""

    trusted: tuple[HostKey, ...]
    revoked: tuple[HostKey, ...] = ()


def pinned_key(text: str, where: str) -> HostKey:
    """The key of a line such as ``ssh-ed25519 AAAA… comment``, a host's name in front or not.

    Raises
    ------
    UsageError
        If there is none in it.
    """
    words = text.split()
    for kind, body in pairwise(words):
        if kind.startswith(("ssh-", "ecdsa-", "sk-")) and _is_base64(body):
            return HostKey(kind, body)
    raise UsageError(where, f"{text!r} is no host key", "Give it as ssh-keyscan prints it")


def known_keys(texts: Iterable[str], name: str) -> KnownKeys:
    """Keys that the files' texts have for a host (``host`` or ``[host]:port``)."""
    found = [entry for text in texts for entry in _entries(text, name)]
    return KnownKeys(
        trusted=tuple(key for marker, key in found if not marker),
        revoked=tuple(key for marker, key in found if marker == _REVOKED),
    )


def require_known(seen: HostKey, known: KnownKeys, login: Login) -> None:
    """Return if the host's key is one that it may show.

    Raises
    ------
    InfrastructureError
        With the fingerprint that was seen and those that were expected.
    """
    if seen in known.revoked:
        raise InfrastructureError(
            f"host {login.name!r}",
            f"it shows the key {seen.fingerprint}, which is revoked",
            "Find out who answers there before anything is sent to it",
        )
    if seen in known.trusted:
        return
    listed = ", ".join(login.known_hosts) or "no file of known hosts"
    if not known.trusted:
        raise InfrastructureError(
            f"host {login.name!r}",
            f"it shows the key {seen.fingerprint}, and {listed} has none for {login.key_name}",
            f"If that is its key: ssh-keyscan -p {login.port} {login.address} >> a file of "
            "known hosts, after comparing the fingerprint",
        )
    expected = ", ".join(key.fingerprint for key in known.trusted)
    raise InfrastructureError(
        f"host {login.name!r}",
        f"it shows the key {seen.fingerprint}, expected {expected}",
        "Somebody may stand in its place: compare with the host's own ssh-keygen -lf, then "
        f"renew its line in {listed}",
    )


def _entries(text: str, name: str) -> Iterator[tuple[str, HostKey]]:
    """Marker and key of each line that is about this host."""
    for line in text.splitlines():
        words = line.split()
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#"):
            continue
        patterns, kind, body = words[:3]
        if _is_base64(body) and _fits(patterns, name):
            yield marker, HostKey(kind, body)


def _fits(patterns: str, name: str) -> bool:
    if patterns.startswith(_HASHED):
        return _is_hash_of(patterns, name)
    is_named = False
    for pattern in patterns.lower().split(","):
        if pattern.startswith("!") and _fits_pattern(name, pattern[1:]):
            return False
        is_named = is_named or _fits_pattern(name, pattern)
    return is_named


def _fits_pattern(name: str, pattern: str) -> bool:
    """``*`` and ``?`` mean any; brackets mean themselves, unlike in a shell."""
    return fnmatchcase(name.lower(), pattern.replace("[", "[[]"))


def _is_hash_of(entry: str, name: str) -> bool:
    salt, _, digest = entry.removeprefix(_HASHED).partition("|")
    if not (_is_base64(salt) and _is_base64(digest)):
        return False
    made = hmac.new(base64.b64decode(salt), name.lower().encode(), hashlib.sha1).digest()
    return hmac.compare_digest(made, base64.b64decode(digest))


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False

"""Where a host is and how it is entered, as values; nothing is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from flows.errors import UsageError

PORT: Final = 22
_MOST_PORTS: Final = 65_535
_DEFAULT_KEYS: Final = ("id_ed25519", "id_ecdsa", "id_rsa")
_DEFAULT_FILES: Final = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
_EVERYBODYS_FILES: Final = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"

Lookup = Callable[[str], Mapping[str, Any]]
"""What an OpenSSH configuration says of a host, by names in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One host to log in to.

    ``name`` is how the user calls it. ``keys`` are private key files, tried in order, then
    those of an agent if ``uses_agent``. The host's key must be one of ``known_hosts`` (files)
    under ``known_as``, or ``pinned`` (type and key, as ``ssh-keyscan`` writes it), which then
    is the only one. ``jump`` is the host through which this one is reached.
    """

    name: str
    address: str
    user: str
    port: int = PORT
    keys: tuple[str, ...] = ()
    uses_agent: bool = True
    known_hosts: tuple[str, ...] = ()
    known_as: str | None = None
    pinned: str | None = None
    jump: Login | None = None

    def __str__(self) -> str:
        return f"{self.user}@{self.address}" + ("" if self.port == PORT else f":{self.port}")

    @property
    def key_name(self) -> str:
        """The name under which files of known hosts have the host's key."""
        name = self.known_as or self.address
        return name if self.port == PORT or self.known_as else f"[{name}]:{self.port}"


def resolved(
    name: str, lookup: Lookup, *, home: Path, user: str, through: tuple[str, ...] = ()
) -> Login:
    """The login of an alias, or of ``user@host:port``; what is stated there comes first.

    ``through`` are the names on the way to which this one is a jump.

    Raises
    ------
    UsageError
        For what is no host, for a ProxyCommand, and for jumps that lead back to themselves.
    """
    where = f"host {name!r}"
    stated, _, rest = name.rpartition("@")
    host, _, port = rest.partition(":")
    if not host or (port and not _is_port(port)):
        raise UsageError(where, "it is no host", "Write it as alias, or as user@host:port")
    if host in through:
        way = " → ".join((*through, host))
        raise UsageError(where, f"its ProxyJump has no end: {way}", "Say none for the last one")
    asked = lookup(host)
    port = port or str(asked.get("port", PORT))
    if not _is_port(port):
        raise UsageError(where, f"its Port is {port!r}", f"Write one of 1 to {_MOST_PORTS}")
    if asked.get("proxycommand", "none") != "none":
        raise UsageError(where, "its ProxyCommand is not supported", "Use ProxyJump")
    keys = tuple(_expanded(each, home) for each in asked.get("identityfile", ()))
    files = str(asked.get("userknownhostsfile", _DEFAULT_FILES)).split()
    files += str(asked.get("globalknownhostsfile", _EVERYBODYS_FILES)).split()
    return Login(
        name=name,
        address=str(asked["hostname"]),
        user=stated or str(asked.get("user", user)),
        port=int(port),
        keys=keys or tuple(str(home / ".ssh" / each) for each in _DEFAULT_KEYS),
        uses_agent=asked.get("identitiesonly", "no") != "yes",
        known_hosts=tuple(_expanded(each, home) for each in files if each.lower() != "none"),
        known_as=asked.get("hostkeyalias"),
        jump=_jump(str(asked.get("proxyjump", "none")), lookup, home, user, (*through, host)),
    )


def _is_port(text: str) -> bool:
    return text.isdecimal() and 0 < int(text) <= _MOST_PORTS


def _jump(
    chain: str, lookup: Lookup, home: Path, user: str, through: tuple[str, ...]
) -> Login | None:
    """The last of the hosts through which a host is reached, with those before it."""
    jump: Login | None = None
    for name in chain.split(","):
        if name.strip().lower() == "none":
            return jump
        login = resolved(name.strip(), lookup, home=home, user=user, through=through)
        jump = login if jump is None or login.jump is not None else replace(login, jump=jump)
    return jump


def _expanded(path: str, home: Path) -> str:
    return str(home / path[2:]) if path.startswith("~/") else path

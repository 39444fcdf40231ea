"""Whose a port is: before a start it must be free, afterwards it must be ours alone.

Two servers can listen on one port without a complaint (SO_REUSEPORT), and the kernel then
deals requests out to both; so every listening socket is looked at, not just one.
Source of the tables: proc(5), /proc/net/tcp and tcp6.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from flows.errors import LaunchError
from flows.launch.processes import Family, age_s, described, living, sockets_of

_LISTENING: Final = "0A"
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - looked for, never bound
_MAPPED: Final = "::ffff:"
_WORD_DIGITS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A listening socket: its address, and its inode, by which processes hold it."""

    address: str
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Why the port's answers are our server's.

    ``by process``: each socket that listens there is held by a process that this launch has
    started; ``age_s`` is how long ago the oldest of them was started. ``by container``: the
    port was free, and the container engine now listens there.
    """

    how: Literal["by process", "by container"]
    addresses: tuple[str, ...]
    pids: tuple[int, ...]
    age_s: float | None

    def to_json(self) -> dict[str, Any]:
        """The proof as plain values."""
        return asdict(self)


def listeners(host: str, port: int) -> tuple[Listener, ...]:
    """Sockets that take connections to this address."""
    taking = (host, *_EVERYWHERE, f"{_MAPPED}{host}")
    return tuple(listener for listener in _all_listeners(port) if listener.address in taking)


def require_free(host: str, port: int, where: str) -> None:
    """Refuse a port that somebody holds, or that we may not open.

    Raises
    ------
    LaunchError
        With the process that holds it, where we may see that.
    """
    if not _TABLES[0].exists():
        raise LaunchError(
            "no proof",
            where,
            "this system has no /proc/net/tcp: whose a port is cannot be proven",
            "Launch on Linux, or give the address of a running server as an endpoint",
        )
    inodes = {listener.inode for listener in listeners(host, port)}
    if inodes:
        pids = " ".join(map(str, _holders(inodes)))
        raise LaunchError(
            "port in use",
            where,
            f"port {port} is taken already: {_who(inodes)} listens there, and would answer in "
            "our server's place",
            f"Stop it{f' (kill {pids})' if pids else ''}, or choose another port",
        )
    refusal = _refusal_to_bind(host, port)
    if refusal is not None:
        raise LaunchError(
            "port in use",
            where,
            f"port {port} cannot be opened: {refusal}",
            "Choose another port",
        )


def require_ours(host: str, port: int, family: Family, where: str) -> Ownership | None:
    """The proof that the port is held by this launch; None while nobody listens.

    Raises
    ------
    LaunchError
        If a process that this launch has not started listens there.
    """
    found = listeners(host, port)
    if not found:
        return None
    inodes = {listener.inode for listener in found}
    held = {process: sockets_of(process.pid) & inodes for process in family.members()}
    foreign = inodes.difference(*held.values())
    # One that closed while we looked is nobody's.
    if foreign & {listener.inode for listener in listeners(host, port)}:
        raise LaunchError(
            "port not ours",
            where,
            f"port {port} is answered by {_who(foreign)}, which this launch has not started",
            "Stop that one, or choose another port",
        )
    owners = sorted((each for each in held if held[each]), key=lambda each: each.pid)
    return Ownership(
        how="by process",
        addresses=tuple(sorted({listener.address for listener in found})),
        pids=tuple(owner.pid for owner in owners),
        age_s=max(map(age_s, owners), default=None),
    )


def published(host: str, port: int) -> Ownership | None:
    """The weaker proof for a container, whose port another user's process holds for it."""
    found = listeners(host, port)
    if not found:
        return None
    return Ownership(
        how="by container",
        addresses=tuple(sorted({listener.address for listener in found})),
        pids=(),
        age_s=None,
    )


def _all_listeners(port: int) -> Iterator[Listener]:
    for table in _TABLES:
        for line in _rows(table):
            words = line.split()
            address, _, number = words[1].partition(":")
            if words[3] == _LISTENING and int(number, 16) == port:
                yield Listener(address=_readable(address), inode=int(words[9]))


def _rows(table: Path) -> Iterable[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()[1:]
    except FileNotFoundError:
        return ()  # a kernel without IPv6


def _readable(address: str) -> str:
    """The kernel writes addresses as 32-bit words in the machine's byte order."""
    words = [address[at : at + _WORD_DIGITS] for at in range(0, len(address), _WORD_DIGITS)]
    packed = b"".join(_in_order(bytes.fromhex(word)) for word in words)
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


def _in_order(word: bytes) -> bytes:
    return socket.htonl(int.from_bytes(word, "big")).to_bytes(4, "big")


def _refusal_to_bind(host: str, port: int) -> str | None:
    """Why the kernel would not open the port; a closed connection's rest is no reason."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.strerror or type(error).__name__
    return None


def _who(inodes: Iterable[int]) -> str:
    holders = _holders(set(inodes))
    return ", ".join(map(described, holders)) or "a process of another user"


def _holders(inodes: set[int]) -> tuple[int, ...]:
    return tuple(
        sorted(process.pid for process in living() if inodes & sockets_of(process.pid))
    )

"""Into a host: a socket that notices a dead link, its proof of its key, ours of one of ours."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import paramiko

from flows.bench.endpoint import is_loopback
from flows.bench.http import LOOPBACK_ONLY
from flows.errors import InfrastructureError, UsageError
from flows.remote.known_hosts import HostKey, KnownKeys, known_keys, pinned_key, require_known
from flows.remote.login import Login
from flows.remote.lost import HostLostError
from flows.ssh.connection import CONNECT_S, PROHIBITED, Connection

_TCP_PATIENCE_S: Final = 10
_MOST_KEYS: Final = 5  # sshd closes after six by default
_WEAK: Final = {
    "ciphers": ["aes128-cbc", "aes192-cbc", "aes256-cbc", "3des-cbc"],
    "macs": ["hmac-sha1", "hmac-md5", "hmac-sha1-96", "hmac-md5-96"],
    "keys": ["ssh-rsa", "ssh-dss"],
    "pubkeys": ["ssh-rsa", "ssh-dss"],
    "kex": ["diffie-hellman-group1-sha1", "diffie-hellman-group14-sha1"],
}


def connect(login: Login, *, limit_s: float = CONNECT_S) -> Connection:
    """A connection to a host that has shown the right key and has let us in.

    Raises
    ------
    HostLostError
        If it does not answer.
    InfrastructureError
        If its key is not the known one, or it does not let us in.
    """
    jump = connect(login.jump, limit_s=limit_s) if login.jump is not None else None
    transport: paramiko.Transport | None = None
    try:
        known = _known(login)
        if jump is None:
            sock: Any = _socket(login, limit_s)
        else:
            sock = _through(jump, login)
        transport = paramiko.Transport(sock, disabled_algorithms=_WEAK)
        _shake_hands(transport, login, known, limit_s)
        _authenticate(transport, login)
        transport.set_keepalive(_TCP_PATIENCE_S)
    except BaseException:
        if transport is not None:
            transport.close()
            transport.join(limit_s)
        if jump is not None:
            jump.close()
        raise
    return Connection(login, transport, jump)


def _through(jump: Connection, login: Login) -> paramiko.Channel:
    """The way on from a jump host; a host that does not answer there may be up in a moment."""
    try:
        return jump.channel_to(login.address, login.port)
    except HostLostError:
        raise
    except InfrastructureError as error:
        if PROHIBITED in error.seen:
            raise
        way = f"{login.address}:{login.port} from {jump.login.name}"
        raise HostLostError(
            f"host {login.name!r}",
            f"no connection to {way}: {error.seen}",
            "Look whether it is up, and at its address and port",
        ) from None


def _known(login: Login) -> KnownKeys:
    if login.pinned is not None:
        return KnownKeys(trusted=(pinned_key(login.pinned, f"host {login.name!r}"),))
    texts = []
    for name in login.known_hosts:
        try:
            texts.append(Path(name).read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            continue
        except OSError as error:  # revoked keys may stand in it: it is not passed over
            raise UsageError(
                f"host {login.name!r}",
                f"{name} cannot be read: {error.strerror}",
                "Make the file of known hosts readable, or name another",
            ) from None
    return known_keys(texts, login.key_name)


def _socket(login: Login, limit_s: float) -> socket.socket:
    """A socket that notices a dead link within seconds."""
    if os.environ.get(LOOPBACK_ONLY) == "1" and not is_loopback(login.address):
        raise UsageError(
            str(login),
            f"{LOOPBACK_ONLY}=1 keeps every connection on this machine",
            "Unset it to reach other hosts",
        )
    try:
        made = socket.create_connection((login.address, login.port), limit_s)
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise HostLostError(
            f"host {login.name!r}",
            f"no connection to {login.address}:{login.port}: {reason}",
            "Look whether it is up, and at its address and port",
        ) from None
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 2)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _TCP_PATIENCE_S * 1000)
    return made


def _shake_hands(
    transport: paramiko.Transport, login: Login, known: KnownKeys, limit_s: float
) -> None:
    """The host's proof of its key, which must be one that we know."""
    transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = limit_s
    options = transport.get_security_options()
    kinds = {key.type for key in known.trusted}
    options.key_types = sorted(options.key_types, key=lambda each: _family(each) not in kinds)
    try:
        transport.start_client(timeout=limit_s)
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise HostLostError(
            f"host {login.name!r}",
            f"no SSH connection to {login.address}:{login.port}: {error or 'it was closed'}",
            "Look whether an SSH server answers there",
        ) from None
    seen = transport.get_remote_server_key()
    require_known(HostKey(seen.get_name(), seen.get_base64()), known, login)


def _family(algorithm: str) -> str:
    """The key's type as files of known hosts write it; RSA keys sign in several ways."""
    return "ssh-rsa" if algorithm.startswith("rsa-sha2-") else algorithm


def _authenticate(transport: paramiko.Transport, login: Login) -> None:
    seen: list[str] = []
    try:
        for name, key in _offered(login, seen):
            try:
                transport.auth_publickey(login.user, key)
            except paramiko.AuthenticationException as error:
                seen.append(f"{name}: {_refusal(error)}")
                continue
            if transport.is_authenticated():
                return
            seen.append(f"{name}: accepted, but something more is wanted")
    except (paramiko.SSHException, EOFError) as error:
        seen.append(f"it ended the connection ({error})")
    raise InfrastructureError(
        f"host {login.name!r}",
        f"it does not let {login.user} in: {'; '.join(seen) or 'there is no key to show'}",
        f"Put the public key into its authorized_keys: ssh {login} must ask for nothing",
    )


def _refusal(error: Exception) -> str:
    if isinstance(error, paramiko.BadAuthenticationType):
        return f"it takes only {', '.join(error.allowed_types)}"
    return "refused"


def _offered(login: Login, seen: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
    """Keys to show, in order; those that cannot be used are told in ``seen``."""
    offered = 0
    for path in login.keys:
        if not Path(path).is_file():
            continue
        try:
            key = paramiko.PKey.from_path(path)
        except (paramiko.PasswordRequiredException, TypeError):  # the latter by cryptography
            seen.append(f"{path}: it is locked; unlock it with ssh-add")
            continue
        except (paramiko.SSHException, ValueError, OSError) as error:
            seen.append(f"{path}: it cannot be read ({error})")
            continue
        offered += 1
        yield path, key
    if login.uses_agent:
        agent = paramiko.Agent()
        try:
            for each in agent.get_keys()[: _MOST_KEYS - offered]:
                yield f"the agent's {each.comment or each.get_name()}", each
        finally:
            agent.close()

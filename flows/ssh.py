"""SSH as runoff uses it: known hosts only, a time limit on everything, ends told apart.

Measured behaviour that shapes this module: paramiko reports -1 both for a death by signal and
for a lost connection, so every command writes its own end; a stream that is not read blocks
the other one, so both are read at once; a failed download leaves an empty file, so downloads
go aside first; a broken link is noticed only with the socket's own options.
"""

from __future__ import annotations

import getpass
import hashlib
import logging
import os
import secrets
import shlex
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import paramiko

from flows.bench.endpoint import is_loopback
from flows.bench.http import LOOPBACK_ONLY
from flows.errors import InfrastructureError, UsageError
from flows.remote.command import Done, drained, unwrapped, wrapped
from flows.remote.config_text import config_text
from flows.remote.known_hosts import HostKey, KnownKeys, known_keys, pinned_key, require_known
from flows.remote.login import Login, resolved
from flows.remote.lost import HostLostError

CONFIG_VARIABLE: Final = "RUNOFF_SSH_CONFIG"
CONNECT_S: Final = 20.0
STALL_S: Final = 30.0  # a transfer in which nothing moves for so long is given up
_TCP_PATIENCE_S: Final = 10
_MOST_KEYS: Final = 5  # sshd closes after six by default
_READ_BYTES: Final = 1 << 16
_LOOK_S: Final = 0.1
_WEAK: Final = {
    "ciphers": ["aes128-cbc", "aes192-cbc", "aes256-cbc", "3des-cbc"],
    "macs": ["hmac-sha1", "hmac-md5", "hmac-sha1-96", "hmac-md5-96"],
    "keys": ["ssh-rsa", "ssh-dss"],
    "pubkeys": ["ssh-rsa", "ssh-dss"],
    "kex": ["diffie-hellman-group1-sha1", "diffie-hellman-group14-sha1"],
}
logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # its errors reach us as such


def login_of(name: str, environment: Mapping[str, str]) -> Login:
    """How a host is entered: an alias of the OpenSSH configuration, or ``user@host:port``.

    The configuration is ``~/.ssh/config``, or the file that RUNOFF_SSH_CONFIG names.

    Raises
    ------
    UsageError
        For a file that cannot be read, and for what it asks that we cannot do.
    """
    home = _home(environment)
    user = environment.get("USER") or getpass.getuser()
    with _configuration_told(environment):
        return resolved(name, _config(environment).lookup, home=home, user=user)


def aliases(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts that the OpenSSH configuration names without a wildcard."""
    with _configuration_told(environment):
        names = _config(environment).get_hostnames()
    return tuple(sorted(name for name in names if not set(name) & set("*?!")))


@contextmanager
def _configuration_told(environment: Mapping[str, str]) -> Iterator[None]:
    """Whatever the configuration has that is no configuration, as the user's error."""
    try:
        yield
    except (paramiko.ssh_exception.SSHException, ValueError, KeyError, ImportError) as error:
        raise UsageError(
            str(_config_path(environment)),
            f"it cannot be understood: {error}",
            f"Correct it, or name another: {CONFIG_VARIABLE}",
        ) from None


def _config_path(environment: Mapping[str, str]) -> Path:
    named = environment.get(CONFIG_VARIABLE)
    return Path(named) if named else _home(environment) / ".ssh" / "config"


def _config(environment: Mapping[str, str]) -> paramiko.SSHConfig:
    home, named = _home(environment), environment.get(CONFIG_VARIABLE)
    path = _config_path(environment)
    text = config_text(path, home) if named or path.exists() else ""
    return paramiko.SSHConfig.from_text(text)


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


class Connection:
    """One authenticated connection; several threads may use it."""

    def __init__(
        self, login: Login, transport: paramiko.Transport, jump: Connection | None
    ) -> None:
        self.login = login
        self._transport = transport
        self._jump = jump
        self._files: paramiko.SFTPClient | None = None
        self._lock = threading.Lock()

    @property
    def is_alive(self) -> bool:
        """Whether nothing has ended it yet, as far as is known here."""
        return self._transport.is_active()

    def run(self, script: str, *, stdin: bytes = b"", limit_s: float = 60.0) -> Done:
        """A shell script run to its end, in ``/bin/sh`` without start files of its own.

        What the login shell prints before it is left out.

        Raises
        ------
        HostLostError
            If the connection ended before the script.
        InfrastructureError
            If it took too long, or was killed with the shell around it.
        """
        word = secrets.token_hex(8)
        with self._told("a command"):
            channel = self._transport.open_session(timeout=CONNECT_S)
            try:
                words = shlex.quote(wrapped(script, word))
                channel.exec_command(_plain(f"/bin/sh -c {words}"))
                output, complaints = drained(channel, stdin, limit_s)
            finally:
                channel.close()
        done = unwrapped(output, complaints, word)
        if done is not None:
            return done
        if not self.is_alive:
            raise self._lost("the connection ended before the command did")
        said = (complaints or output).decode(errors="replace").strip()[-300:]
        raise InfrastructureError(
            self._where,
            f"a command was killed or did not run: {said or 'it said nothing'}",
            "Log in by hand and look whether its shell works",
        )

    def pipe(self, command: str) -> Pipe:
        """A program that answers line by line for as long as the connection lives."""
        with self._told("a program"):
            channel = self._transport.open_session(timeout=CONNECT_S)
            channel.exec_command(_plain(command))
        return Pipe(channel, self)

    def channel_to(self, host: str, port: int) -> paramiko.Channel:
        """A connection from the host to an address that it can reach."""
        with self._told(f"a channel to {host}:{port}"):
            return self._transport.open_channel(
                "direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=CONNECT_S
            )

    def put(self, source: Path, target: str, *, mode: int = 0o600) -> str:
        """A file copied to the host, whole or not at all; its SHA-256.

        Raises
        ------
        InfrastructureError
            If the host did not take it, or holds something else now.
        """
        wanted = _sha256(source)
        aside = f"{target}.{wanted[:8]}.part"  # the next attempt writes over it
        try:
            with self._told(f"copying {source.name}"), source.open("rb") as file:
                files = self._sftp()
                files.putfo(file, aside, confirm=True)
                files.chmod(aside, mode)
            self._require(aside, wanted, target)
            with self._told(f"copying {source.name}"):
                self._sftp().posix_rename(aside, target)
        except BaseException:
            with suppress(OSError, EOFError, InfrastructureError, paramiko.SSHException):
                self._sftp().remove(aside)
            raise
        return wanted

    def get(self, source: str, target: Path) -> str:
        """A file copied from the host, whole or not at all; its SHA-256.

        Raises
        ------
        InfrastructureError
            If it is not there, or did not come over as it is there.
        """
        aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            is_there = target.exists()
            aside.touch(mode=target.stat().st_mode & 0o777 if is_there else 0o666)
            with self._told(f"fetching {source}"), aside.open("wb") as file:
                self._sftp().getfo(source, file)
                file.flush()
                os.fsync(file.fileno())
            seen = _sha256(aside)
            self._require(source, seen, str(target))
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
        return seen

    def close(self) -> None:
        """End it, and the connections that it goes through."""
        self._transport.close()
        self._transport.join(CONNECT_S)
        if self._jump is not None:
            self._jump.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _where(self) -> str:
        return f"host {self.login.name!r}"

    def _sftp(self) -> paramiko.SFTPClient:
        with self._lock:
            if self._files is None:
                self._files = paramiko.SFTPClient.from_transport(self._transport)
                if self._files is None:
                    raise self._lost("it gives no channel for files")
                channel = self._files.get_channel()
                if channel is not None:
                    channel.settimeout(STALL_S)
            return self._files

    def _require(self, path: str, wanted: str, what: str) -> None:
        done = self.run(f"sha256sum -- {shlex.quote(path)}", limit_s=600.0)
        seen = done.text.lstrip("\\").split(" ")[0]
        if done.code != 0 or seen != wanted:
            raise InfrastructureError(
                self._where,
                f"{what}: what is there has SHA-256 {seen or done.last_words}, here {wanted}",
                "Try again; if it stays, look at that disk",
            )

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Errors of the library as ours: lost, or refused by the host."""
        try:
            yield
        except paramiko.ChannelException as error:
            raise InfrastructureError(self._where, f"{what}: {error.text}", "") from None
        except (paramiko.SSHException, EOFError, TimeoutError, ConnectionError) as error:
            raise self._lost(f"{what}: {str(error) or type(error).__name__}") from None
        except OSError as error:
            if not self.is_alive or "closed" in str(error).lower():
                raise self._lost(f"{what}: {error}") from None
            reason = error.strerror or str(error)
            raise InfrastructureError(
                self._where,
                f"{what}: the host says {reason}",
                "Look at its free space and at the permissions there",
            ) from None

    def _lost(self, seen: str) -> HostLostError:
        return HostLostError(self._where, seen, "Look whether it is up and reachable")


class Pipe:
    """A program's two ends; what it complains of must go elsewhere."""

    def __init__(self, channel: paramiko.Channel, connection: Connection) -> None:
        self._channel = channel
        self._connection = connection
        self._rest = b""

    def send(self, line: bytes, limit_s: float) -> None:
        """Give it one line."""
        with self._connection._told("a question"):  # noqa: SLF001 - the same module
            self._channel.settimeout(limit_s)
            self._channel.sendall(line + b"\n")

    def line(self, limit_s: float) -> bytes:
        """Its next line; HostLostError where none comes within the time."""
        until_s = time.monotonic() + limit_s
        with self._connection._told("an answer"):  # noqa: SLF001 - the same module
            while b"\n" not in self._rest:
                self._channel.settimeout(max(0.01, until_s - time.monotonic()))
                data = self._channel.recv(_READ_BYTES)
                if not data:
                    raise EOFError("the program on the host has ended")
                self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def close(self) -> None:
        """End the program by the end of its input."""
        self._channel.close()


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
            sock = jump.channel_to(login.address, login.port)
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


def _known(login: Login) -> KnownKeys:
    if login.pinned is not None:
        return KnownKeys(trusted=(pinned_key(login.pinned, f"host {login.name!r}"),))
    texts = []
    for name in login.known_hosts:
        with suppress(FileNotFoundError):
            texts.append(Path(name).read_text(encoding="utf-8", errors="replace"))
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


def _plain(command: str) -> str:
    """The command in place of the login shell, without what makes shells read files."""
    return f"exec env -u BASH_ENV -u ENV {command}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

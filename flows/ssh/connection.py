"""One connection to a host: commands, programs that answer, channels, files."""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import paramiko

from flows.errors import InfrastructureError
from flows.remote.command import Done, drained, unwrapped, wrapped
from flows.remote.login import Login
from flows.remote.lost import HostLostError

CONNECT_S: Final = 20.0
STALL_S: Final = 30.0  # a transfer in which nothing moves for so long is given up
PROHIBITED: Final = "Administratively prohibited"  # what the library calls a refused channel
_READ_BYTES: Final = 1 << 16


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


def _plain(command: str) -> str:
    """The command in place of the login shell, without what makes shells read files."""
    return f"exec env -u BASH_ENV -u ENV {command}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

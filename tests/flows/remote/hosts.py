"""Hosts to log in to: a real sshd each, in a network of its own where the machine allows it."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flows.remote.login import Login

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {host_key}
AuthorizedKeysFile {authorized}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 50
MaxSessions 50
Subsystem sftp internal-sftp
SetEnv PATH={path} RUNOFF_REMOTE={root} RUNOFF_LOCKS={locks} {environment}
"""


def missing() -> str | None:
    """Why there can be no host here; None: there can."""
    if not Path(SSHD).exists():
        return "no sshd: install Debian's openssh-server"
    if shutil.which("ssh-keygen") is None:
        return "no ssh-keygen: install Debian's openssh-client"
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd wants it, services make it
    return None


def make_key(path: Path, kind: str = "ed25519") -> str:
    """A key pair without a passphrase; the public half."""
    if not path.exists():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "a test", "-f", path], check=True
        )
    return path.with_name(f"{path.name}.pub").read_text()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@dataclass
class SshHost:
    """One host: its own host key, its own folders, a port on loopback."""

    folder: Path
    keys: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    has_own_network: bool = False
    root_at: Path | None = None
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.host_key = make_key(self.folder / "host_key")
        self.user_key = self.keys / "user_key"
        authorized = self.folder / "authorized_keys"
        authorized.write_text(make_key(self.user_key))
        (self.folder / "locks").mkdir(exist_ok=True)
        self.known_hosts = self.folder / "known_hosts"
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {self.host_key}")
        self.config = self.folder / "sshd_config"
        self.config.write_text(
            CONFIG.format(
                port=self.port,
                host_key=self.folder / "host_key",
                authorized=authorized,
                path=f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin:/usr/sbin:/sbin",
                root=self.root,
                locks=self.folder / "locks",
                environment=" ".join(f"{k}={v}" for k, v in self.environment.items()),
            )
        )

    @property
    def root(self) -> Path:
        """Where runoff keeps its things there."""
        return self.root_at or self.folder / "runoff"

    def login(self, **changes: object) -> Login:
        words = {
            "name": "box",
            "address": "127.0.0.1",
            "port": self.port,
            "user": os.environ.get("USER") or "root",
            "keys": (str(self.user_key),),
            "uses_agent": False,
            "known_hosts": (str(self.known_hosts),),
        }
        return Login(**{**words, **changes})

    def client(self, home: Path, **more: str) -> dict[str, str]:
        """The environment of a user whose OpenSSH configuration knows this host as ``box``."""
        folder = home / ".ssh"
        folder.mkdir(exist_ok=True)
        words = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": os.environ.get("USER") or "root",
            "IdentityFile": str(self.user_key),
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": str(self.known_hosts),
            **more,
        }
        lines = ["Host box", *(f"  {name} {value}" for name, value in words.items())]
        (folder / "config").write_text("\n".join(lines) + "\n")
        return {"HOME": str(home)}

    def start(self) -> None:
        command = [SSHD, "-D", "-e", "-f", str(self.config)]
        with (self.folder / "sshd.log").open("ab") as log:
            self.processes.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )
        until_s = time.monotonic() + 20
        while time.monotonic() < until_s:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        raise AssertionError((self.folder / "sshd.log").read_text())

    def stop(self) -> None:
        """End the daemon and every session of it, as a machine's crash of sshd would."""
        for process in self.processes:
            tree = _descendants(process.pid)
            for pid in (process.pid, *tree):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()

    def restart(self) -> None:
        """End the daemon and all sessions, not what they have started, and start it anew."""
        for process in self.processes:
            for pid in (process.pid, *_sshd_below(process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()
        self.start()

    def cut(self) -> None:
        """End all sessions; the daemon goes on."""
        for process in self.processes:
            for pid in _children(process.pid):
                for each in (pid, *_sshd_below(pid)):
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)


class Network:
    """A network namespace with a loopback interface of its own, for as long as it is held."""

    def __init__(self) -> None:
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.holder.stdout is not None
        self.is_there = self.holder.stdout.readline() == b"up\n"
        self.holder.stdout.close()

    def words(self) -> list[str]:
        """What stands before a command that is to run inside."""
        return ["nsenter", "-t", str(self.holder.pid), "-n"]

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()


class FarHost(SshHost):
    """A host whose loopback is not ours: each connection gets an sshd inside the network."""

    network: Network

    def start(self) -> None:
        self.has_own_network = True
        self.network = Network()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._listener.close()
        for process in self.processes:
            for pid in (process.pid, *_descendants(process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()
        self.network.close()

    def _serve(self) -> None:
        command = [*self.network.words(), SSHD, "-i", "-e", "-f", str(self.config)]
        while not self._is_over.is_set():
            if not select.select([self._listener], [], [], 0.05)[0]:
                continue
            taken, _ = self._listener.accept()
            with taken, (self.folder / "sshd.log").open("ab") as log:
                self.processes.append(
                    subprocess.Popen(command, stdin=taken, stdout=taken, stderr=log)
                )


class Proxy:
    """A TCP proxy between us and a host: it can delay, hold everything back, and cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.delay_s = 0.0
        self.is_deaf = threading.Event()
        self.cut_after_bytes: int | None = None
        self._passed = 0
        self._is_over = threading.Event()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """End all connections at once."""
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut_after(self, more_bytes: int) -> None:
        """End all connections when so many bytes more have gone through."""
        self.cut_after_bytes = self._passed + more_bytes

    def close(self) -> None:
        self._is_over.set()
        self.cut()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            if not select.select([self._listener], [], [], 0.05)[0]:
                continue
            near, _ = self._listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 5)
            except OSError:
                near.close()
                continue
            self._open += [near, far]
            thread = threading.Thread(target=self._carry, args=(near, far), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        with near, far, suppress(OSError):
            while not self._is_over.is_set():
                if self.is_deaf.is_set():
                    time.sleep(0.02)
                    continue
                ready = select.select([near, far], [], [], 0.05)[0]
                for source, target in ((near, far), (far, near)):
                    if source in ready:
                        data = source.recv(1 << 16)
                        if not data:
                            return
                        time.sleep(self.delay_s)
                        self._passed += len(data)
                        target.sendall(data)
                        self._count()

    def _count(self) -> None:
        if self.cut_after_bytes is not None and self._passed >= self.cut_after_bytes:
            self.cut_after_bytes = None
            self.cut()


def end_all_below(folder: Path) -> None:
    """Whatever a test has left running under a folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                if str(folder) in words and int(entry.name) != os.getpid():
                    os.kill(int(entry.name), signal.SIGKILL)


def until(true: Callable[[], object], limit_s: float = 30.0) -> None:
    """Wait for something that must come."""
    until_s = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < until_s, "it did not come"
        time.sleep(0.02)


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in entry.read_text().split()]
    return found


def _descendants(pid: int) -> Sequence[int]:
    found: list[int] = []
    for child in _children(pid):
        found += [child, *_descendants(child)]
    return found


def _sshd_below(pid: int) -> list[int]:
    names = ("sshd", "sshd-session")
    return [each for each in _descendants(pid) if _name(each) in names]


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""

"""A job on a host as it is seen from here: started once, looked at, ended, never lost."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from flows.errors import InfrastructureError, LaunchError
from flows.launch.ending import KILL_S, Step
from flows.remote.host import RemoteHost
from flows.remote.job_folder import LOG, Order

LEASE_S: Final = 900.0  # how long a job outlives whoever has started it
_LOOK_S: Final = 0.1
_GRACE_S: Final = 70.0  # its cleanup may take a minute
_OVER: Final = ("ended", "lost", "absent")


@dataclass(slots=True, kw_only=True)
class RemoteJob:
    """One job, by its folder on the host.

    ``mirror`` takes what the job prints, as far as it was looked at.
    """

    host: RemoteHost
    folder: str
    log: str
    mirror: Path | None = None
    seen: dict[str, Any] = field(default_factory=dict)
    _offset: int = 0

    @property
    def stage(self) -> str:
        """How it was at the last look."""
        return str(self.seen.get("stage", "absent"))

    @property
    def is_over(self) -> bool:
        """Whether it will not go on, as of the last look."""
        return self.stage in _OVER

    def look(self, *, is_wanted: bool = True) -> Mapping[str, Any]:
        """How it goes now; its mirror is written on, the lease of a wanted one renewed."""
        wanted: dict[str, Any] = {"is_wanted": is_wanted}
        if self.mirror is not None:
            wanted |= {"log": self.log, "offset": self._offset}
        found = self.host.ask("state", folder=self.folder, **wanted)
        if self.mirror is not None:
            self._write_on(base64.b64decode(found.pop("log")))
        self.seen = found
        return self.seen

    def look_to_the_end(self) -> None:
        """Take all that it has printed."""
        while True:
            before = self._offset
            self.look()
            if self._offset == before:
                return

    def wait(
        self,
        limit_s: float,
        *,
        is_wanted: bool = True,
        looked: Callable[[], None] = lambda: None,
    ) -> Mapping[str, Any]:
        """Wait for its end; ``looked`` is called after each look.

        Raises
        ------
        InfrastructureError
            If it takes longer, with what it printed last where that is known.
        """
        until_s = time.monotonic() + limit_s
        while not self.is_over:
            if time.monotonic() > until_s:
                raise InfrastructureError(
                    f"{self.host.where}, {self.folder}", f"not over after {limit_s:g} s", ""
                )
            time.sleep(_LOOK_S)
            self.look(is_wanted=is_wanted)
            looked()
        return self.seen

    def interrupt(self) -> None:
        """Send its first process SIGINT, as Ctrl-C would."""
        self.host.ask("interrupt", folder=self.folder)

    def end(self, manner: Sequence[Step] = ()) -> Mapping[str, Any]:
        """Stop it and wait until nothing of it is left; again: how it ended.

        Without ``manner`` it ends as it was ordered to. A lost job is looked after by its
        guard, which ends it in that manner too.
        """
        plain = [asdict(step) for step in manner]
        self.seen = self.host.ask("stop", folder=self.folder, manner=plain)
        patience_s = sum((step.patience_s for step in manner), 4 * KILL_S)
        self.wait(patience_s + _GRACE_S, is_wanted=False)  # a full disk takes no lease
        self.host.let_go(self.folder)
        return self.seen

    def forget(self) -> None:
        """Remove what the ended job has left in its folder."""
        self.host.let_go(self.folder)
        self.host.ask("forget", folder=self.folder)

    def _write_on(self, piece: bytes) -> None:
        if piece and self.mirror is not None:
            with self.mirror.open("ab") as file:
                file.write(piece)
            self._offset += len(piece)


def job_folder(host: RemoteHost, name: str) -> str:
    """The folder of a job of this name; the same name is the same job."""
    return f"{host.equipped.root}/jobs/{name}"


def begin(
    host: RemoteHost,
    name: str,
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    mirror: Path | None = None,
    **wanted: Any,
) -> RemoteJob:
    """The job of this name, started unless it was started before.

    It runs in its own folder unless ``cwd`` says where. Other words are those of ``Order``;
    the environment is that of the kit's programs unless one is given.

    Raises
    ------
    LaunchError
        If its program cannot be run.
    InfrastructureError
        If the host cannot take it.
    """
    folder = job_folder(host, name)
    order = Order(
        argv=tuple(argv),
        cwd=cwd or folder,
        env=wanted.pop("env", None) or host.equipped.own_environment,
        log=wanted.pop("log", None) or f"{folder}/{LOG}",
        lease_s=wanted.pop("lease_s", LEASE_S),
        **wanted,
    )
    job = RemoteJob(host=host, folder=folder, log=order.log, mirror=mirror)
    host.ask("order", folder=folder, asked=order.to_json())
    job.seen = host.ask("start", folder=folder)
    host.keep(folder)
    while job.stage == "starting":
        time.sleep(_LOOK_S)
        job.look()
    failed = job.seen.get("failed")
    if failed is not None:
        job.forget()
        where = f"{host.where}, {failed['where']}"
        raise LaunchError(failed["kind"], where, failed["seen"], failed["do"])
    if job.stage not in ("running", "ended"):
        raise InfrastructureError(
            host.where,
            f"job {name} is {job.stage} right after its start",
            f"Look into {folder}",
        )
    return job

"""A server that is ready, in the hands of whoever measures it."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from flows.bench.endpoint import checked_endpoint
from flows.launch.ask import Address, fetched
from flows.launch.facts import LaunchFacts, Stopped
from flows.launch.launched import Launched
from flows.load.plan import Endpoint, Tls

_HEALTH_S: Final = 5.0


class Running:
    """A launched server; leaving it as a context manager stops it."""

    def __init__(self, session: Launched, facts: LaunchFacts, address: Address) -> None:
        self.facts = facts
        self._session = session
        self._address = address

    @property
    def url(self) -> str:
        """The server's base URL."""
        return self._address.url

    def endpoint(self) -> Endpoint:
        """Where it takes prompts, with the key that it asks for."""
        path = self._session.plan.readiness.completion_path
        return checked_endpoint(f"{self.url}{path}", self._address.headers, Tls())

    @property
    def pid(self) -> int:
        """The process id of its leader."""
        return self.facts.pid

    def check(self) -> None:
        """Return while the server lives; costs one system call.

        Raises
        ------
        LaunchError
            With the line or the signal that says why it died.
        """
        death = self._session.death() if self._session.stopped is None else None
        if death is not None:
            raise self._session.told(death)

    def is_healthy(self) -> bool:
        """Whether it says so within some seconds; not to be asked in a measured window."""
        health = self._session.plan.health
        answer = fetched(self._address, health.path, _HEALTH_S)
        return answer is not None and answer.status == health.ready_status

    def processes(self) -> tuple[int, ...]:
        """Process ids of the server and all that it has started."""
        return self._session.processes()

    def stop(self) -> Stopped:
        """Stop it: asked, told, killed; its log is compressed. Again: how it was stopped.

        Raises
        ------
        LaunchError
            If one of its processes does not end.
        """
        stopped = self._session.end()
        self._session.record("stopped", **self.facts.to_json(), stopped=stopped.to_json())
        return stopped

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

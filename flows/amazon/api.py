"""The one seam to AWS: a call by service, operation and region; its errors by their codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

NO_ANSWER: Final = "NoAnswer"
NO_CREDENTIALS: Final = "NoCredentials"


class ApiError(Exception):
    """What AWS answered in place of a result, or that nothing was answered."""

    def __init__(self, operation: str, region: str, code: str, message: str) -> None:
        super().__init__(f"{operation} in {region}: {code}: {message}")
        self.operation = operation
        self.region = region
        self.code = code
        self.message = message


class Api(Protocol):
    """Calls AWS with bounded time and few tries."""

    def __call__(
        self, service: str, operation: str, region: str, /, **request: Any
    ) -> dict[str, Any]:
        """The answer; ApiError with the code of a refusal."""

    def region(self) -> str | None:
        """The region of the user's own configuration."""


def items(
    api: Api, service: str, operation: str, region: str, key: str, **request: Any
) -> Iterator[dict[str, Any]]:
    """All entries under ``key`` of an answer that may come in several pages."""
    more: dict[str, Any] = {}
    while True:
        answer = api(service, operation, region, **request, **more)
        yield from answer.get(key, ())
        if not answer.get("NextToken"):
            return
        more = {"NextToken": answer["NextToken"]}


def filters(**values: str | list[str]) -> list[dict[str, Any]]:
    """EC2's filters; an underscore stands for a dash."""
    return [
        {"Name": name.replace("_", "-"), "Values": [each] if isinstance(each, str) else each}
        for name, each in values.items()
    ]

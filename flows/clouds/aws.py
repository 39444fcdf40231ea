"""AWS EC2: machines rented for a campaign; the one module that knows AWS's library.

What is asked and made is in ``flows.amazon``. Here are credentials, connections, time limits
and the translation of errors.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from catalog.schema import Candidate
from flows.amazon.acquiring import PREFIX
from flows.amazon.api import NO_ANSWER, NO_CREDENTIALS, ApiError
from flows.amazon.driver import REGIONS, Amazon
from flows.amazon.refusals import kind_of
from flows.bench.endpoint import is_loopback
from flows.bench.http import LOOPBACK_ONLY, get
from flows.clouds.protocol import Site
from flows.errors import InfrastructureError
from flows.load.plan import Endpoint

if TYPE_CHECKING:
    import boto3

    from flows.preflight.finding import Finding

ENDPOINT: Final = "AWS_ENDPOINT_URL"
_KEYS: Final = {
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
}
_SIGNS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    REGIONS,
)
_FILES: Final = {
    "AWS_SHARED_CREDENTIALS_FILE": "credentials",
    "AWS_CONFIG_FILE": "config",
}
_TRIES: Final = 3  # more of them inside the library would hang for minutes unseen
_CONNECT_S: Final = 5.0
_ANSWER_S: Final = 30.0
_CALLER_S: Final = 10.0


def serves(host: str | None, offer: str | None) -> bool:
    """Whether a candidate is meant for a machine that is rented here."""
    return host is None and offer is not None and offer.startswith(PREFIX)


def configured(site: Site) -> bool:
    """Whether this user has, or ever had, anything to do with AWS."""
    told = site.environment
    home = Path(told.get("HOME", ""), ".aws")
    files = [Path(told.get(name) or home / usual) for name, usual in _FILES.items()]
    return (
        any(told.get(name) for name in _SIGNS)
        or any(file.is_file() for file in files)
        or (site.state / "aws" / "regions").is_dir()
        or any(machine.driver == "aws" for machine in site.known)
    )


def connect(site: Site) -> Amazon:
    """The driver, with credentials from where the AWS command line finds them."""
    told = {
        name: value
        for name, value in site.environment.items()
        if name.startswith("AWS_") or name == LOOPBACK_ONLY
    }
    return Amazon(site=site, api=_boto(tuple(sorted(told.items()))), ask=_asked)


@lru_cache(maxsize=4)
def _boto(environment: tuple[tuple[str, str], ...]) -> Boto:
    """One set of connections for all hosts: the library takes a second to make each anew."""
    return Boto(dict(environment))


def findings(site: Site, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
    """What keeps the campaign from its machines: caller, credentials, quota, permissions."""
    from flows.amazon.before import findings as found  # noqa: PLC0415 - few need it

    return tuple(found(connect(site), [each.offer or "" for each in candidates]))


class Boto:
    """Calls AWS through its library: three tries, few seconds, errors by their codes."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()
        self._opened: boto3.Session | None = None

    def __call__(
        self, service: str, operation: str, region: str, /, **request: Any
    ) -> dict[str, Any]:
        """The answer; ApiError with the code of a refusal, or why there is none."""
        from botocore import exceptions, parsers  # noqa: PLC0415 - slow to import

        no_credentials = (
            exceptions.NoCredentialsError,
            exceptions.PartialCredentialsError,
            exceptions.CredentialRetrievalError,
            exceptions.TokenRetrievalError,
            exceptions.SSOError,
            exceptions.ProfileNotFound,
        )
        try:
            client = self._client(service, region)
            answer: dict[str, Any] = getattr(client, operation)(**request)
        except exceptions.ClientError as error:
            told = error.response.get("Error", {})
            code, message = told.get("Code", "Unknown"), told.get("Message", str(error))
        except no_credentials as error:
            code, message = NO_CREDENTIALS, str(error)
        except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
            code, message = NO_ANSWER, str(error)
        except parsers.ResponseParserError as error:  # a proxy's or a portal's page
            code, message = NO_ANSWER, f"what came is no answer of AWS: {str(error)[:200]}"
        except exceptions.BotoCoreError as error:
            code, message = type(error).__name__, str(error)
        else:
            return answer
        refusal = ApiError(operation, region, code, message)
        if kind_of(refusal) == "credentials":
            self._forget()  # they may be renewed on disk: the next call reads them again
        raise refusal from None

    def region(self) -> str | None:
        """The region of the user's own configuration."""
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - slow to import

        try:
            found: str | None = self._session().region_name
        except BotoCoreError:
            return None
        return found

    def _forget(self) -> None:
        with self._lock:
            self._clients.clear()
            self._opened = None

    def _session(self) -> boto3.Session:
        with self._lock:
            if self._opened is None:
                import boto3  # noqa: PLC0415 - slow to import

                told = self._environment
                keys = {name: told.get(variable) for name, variable in _KEYS.items()}
                if told.get("AWS_ACCESS_KEY_ID"):
                    self._opened = boto3.Session(**keys)
                else:
                    self._opened = boto3.Session(profile_name=told.get("AWS_PROFILE") or None)
            return self._opened

    def _client(self, service: str, region: str) -> Any:
        endpoint = self._endpoint(service)
        self._refuse_beyond_loopback(endpoint)
        from botocore.config import Config  # noqa: PLC0415 - slow to import

        session = self._session()
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = session.client(
                    service,
                    region_name=region,
                    endpoint_url=endpoint,
                    config=Config(
                        retries={"mode": "standard", "total_max_attempts": _TRIES},
                        connect_timeout=_CONNECT_S,
                        read_timeout=_ANSWER_S,
                    ),
                )
            return self._clients[service, region]

    def _endpoint(self, service: str) -> str | None:
        """Another address than AWS's own: that of the service, else that of all."""
        own = f"{ENDPOINT}_{service.upper().replace('-', '_')}"
        return self._environment.get(own) or self._environment.get(ENDPOINT) or None

    def _refuse_beyond_loopback(self, endpoint: str | None) -> None:
        if self._environment.get(LOOPBACK_ONLY) != "1":
            return
        host = (endpoint or "").partition("://")[2].partition("/")[0].rpartition(":")[0]
        if not is_loopback(host):
            raise InfrastructureError(
                "AWS", f"{LOOPBACK_ONLY}=1 keeps every request here", f"Unset it, or {ENDPOINT}"
            )


def _asked(url: str) -> str:
    return get(url, Endpoint(url=url, headers={}), _CALLER_S).text

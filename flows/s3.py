"""Objects in a bucket of S3: written and read whole, each held against its SHA-256.

Credentials, region and endpoint (``AWS_ENDPOINT_URL``) come from where the AWS command line
finds them. An object is one PUT, which S3 makes visible whole or not at all; S3 compares what
it got with the digest that we send, and what it then says is compared again.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from catalog.store import S3, bucket_and_prefix
from flows.amazon.api import NO_ANSWER, NO_CREDENTIALS, ApiError
from flows.clouds.aws import Boto
from flows.errors import InfrastructureError, UsageError

MOST_BYTES: Final = 5 * 10**9  # of one PUT
_OURS: Final = "sha256"  # kept beside the object too: not every store returns checksums
_USUAL_REGION: Final = "us-east-1"
_GONE: Final = ("404", "NoSuchKey", "NotFound")
_DENIED: Final = "See that the credentials may list, read, write and delete objects there"
_RENEW: Final = "Renew the credentials (aws sts get-caller-identity shows whose they are)"
_LATER: Final = "Try again in a while; --resume goes on where it ended"
_DO: Final[Mapping[str, str]] = {
    "NoSuchBucket": "Make the bucket, or correct `store` in the campaign file",
    "AccessDenied": _DENIED,
    "403": _DENIED,
    "RequestTimeTooSkewed": "Set this machine's clock: S3 refuses one that is 15 minutes off",
    "PermanentRedirect": "The bucket lies in another region: set AWS_REGION",
    "AuthorizationHeaderMalformed": "The bucket lies in another region: set AWS_REGION",
    NO_CREDENTIALS: _RENEW,
    "ExpiredToken": _RENEW,
    "InvalidAccessKeyId": _RENEW,
    "SignatureDoesNotMatch": _RENEW,
    "BadDigest": _LATER,
    NO_ANSWER: _LATER,
    "SlowDown": _LATER,
    "InternalError": _LATER,
    "ServiceUnavailable": _LATER,
}


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket, and the keys' beginning in it without slashes at its ends."""

    bucket: str
    prefix: str

    @classmethod
    def of(cls, url: str) -> S3Place:
        """The place that ``s3://bucket/prefix`` names; UsageError where it names none."""
        try:
            return cls(*bucket_and_prefix(url))
        except ValueError:
            raise UsageError(url, "it names no bucket", "Write s3://BUCKET/PREFIX") from None

    @property
    def url(self) -> str:
        """The place as a campaign file states it."""
        return S3 + "/".join(part for part in (self.bucket, self.prefix) if part)

    def key(self, *parts: str) -> str:
        """A key below the place."""
        return "/".join(part for part in (self.prefix, *parts) if part)


class Bucket:
    """The objects of one bucket."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self.name = name
        told = {k: v for k, v in environment.items() if k.startswith(("AWS_", "RUNOFF_"))}
        self._api = Boto(told)
        self._stated = told.get("AWS_REGION") or told.get("AWS_DEFAULT_REGION")

    def put(self, key: str, content: bytes) -> str:
        """Write an object; its SHA-256 (hex) as the bucket confirms it.

        Raises
        ------
        InfrastructureError
            Where it was not written, or is not what was sent.
        """
        if len(content) > MOST_BYTES:
            raise self._wrong(key, f"{len(content)} bytes are more than one object takes", "")
        digest = hashlib.sha256(content)
        told = self._call(
            "put_object",
            key,
            Body=content,
            ChecksumAlgorithm="SHA256",
            ChecksumSHA256=base64.b64encode(digest.digest()).decode(),
            Metadata={_OURS: digest.hexdigest()},
        )
        seen = _told(told)
        if seen is None:  # a store that confirms nothing is read back
            seen = hashlib.sha256(self.get(key)).hexdigest()
        if seen != digest.hexdigest():
            raise self._wrong(key, "what was stored is not what was sent", _LATER)
        return seen

    def get(self, key: str) -> bytes:
        """An object's content, whole and as its digest says; InfrastructureError else."""
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - slow to import

        found = self._call("get_object", key, ChecksumMode="ENABLED")
        try:
            content: bytes = found["Body"].read()
        except BotoCoreError as error:
            raise self._wrong(key, f"it came damaged or in part: {error}", _LATER) from None
        stated = _stated(found)
        if stated is None:
            raise self._wrong(key, "it has no SHA-256: runoff did not write it", "Take it away")
        is_whole = len(content) == found["ContentLength"]
        if not is_whole or hashlib.sha256(content).hexdigest() != stated:
            raise self._wrong(key, "its content is not what its SHA-256 says", _LATER)
        return content

    def sha256(self, key: str) -> str | None:
        """The digest (hex) of an object; None where there is none of ours."""
        try:
            found = self._asked("head_object", Key=key, ChecksumMode="ENABLED")
        except ApiError as error:
            if error.code in _GONE:
                return None
            raise self._explained(key, error) from None
        return _stated(found)

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key that begins so, in order."""
        for answer in self._pages(prefix):
            yield from (each["Key"] for each in answer.get("Contents", ()))

    def tags(self, prefix: str) -> dict[str, str]:
        """Of every key that begins so what changes with its content, without a request each."""
        return {
            each["Key"]: each["ETag"]
            for answer in self._pages(prefix)
            for each in answer.get("Contents", ())
        }

    def folders(self, prefix: str) -> tuple[str, ...]:
        """What stands between ``prefix`` and the next slash of the keys below, each once."""
        found = [
            each["Prefix"]
            for answer in self._pages(prefix, Delimiter="/")
            for each in answer.get("CommonPrefixes", ())
        ]
        return tuple(each.removeprefix(prefix).rstrip("/") for each in found)

    def delete(self, key: str) -> None:
        """Take an object away; one that is not there is no error."""
        self._call("delete_object", key)

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        while True:
            try:
                answer = self._asked("list_objects_v2", Prefix=prefix, **more)
            except ApiError as error:
                raise self._explained(prefix, error) from None
            yield answer
            if not answer.get("IsTruncated"):
                return
            more = {**more, "ContinuationToken": answer["NextContinuationToken"]}

    def _call(self, operation: str, key: str, **request: Any) -> dict[str, Any]:
        try:
            return self._asked(operation, Key=key, **request)
        except ApiError as error:
            raise self._explained(key, error) from None

    def _asked(self, operation: str, **request: Any) -> dict[str, Any]:
        return self._api("s3", operation, self._region, Bucket=self.name, **request)

    @cached_property
    def _region(self) -> str:
        return self._stated or self._api.region() or _USUAL_REGION

    def _explained(self, key: str, error: ApiError) -> InfrastructureError:
        seen = f"{error.operation}: {error.code}: {error.message.rstrip('.')}"
        return self._wrong(key, seen, _DO.get(error.code, _LATER))

    def _wrong(self, key: str, seen: str, do: str) -> InfrastructureError:
        return InfrastructureError(f"s3://{self.name}/{key}", seen, do)


def _told(answer: Mapping[str, Any]) -> str | None:
    """The digest that the store itself has computed."""
    stated = answer.get("ChecksumSHA256")
    return None if stated is None else base64.b64decode(stated).hex()


def _stated(answer: Mapping[str, Any]) -> str | None:
    ours: str | None = answer.get("Metadata", {}).get(_OURS)
    return _told(answer) or ours

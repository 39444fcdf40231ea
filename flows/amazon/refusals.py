"""What AWS's error codes mean for us: go on elsewhere, wait, or tell the user what to do."""

from __future__ import annotations

from typing import Final, Literal

from flows.amazon.api import NO_ANSWER, NO_CREDENTIALS, ApiError
from flows.errors import InfrastructureError, StillBilled

Kind = Literal["capacity", "quota", "busy", "credentials", "denied", "gone", "other"]

_KINDS: Final[dict[Kind, frozenset[str]]] = {
    "capacity": frozenset(
        {
            "InsufficientInstanceCapacity",
            "InsufficientCapacity",
            "InsufficientHostCapacity",
            "InsufficientCapacityOnHost",
            "ReservationCapacityExceeded",
            "SpotMaxPriceTooLow",
            "Unsupported",
        }
    ),
    "quota": frozenset(
        {
            "VcpuLimitExceeded",
            "InstanceLimitExceeded",
            "MaxSpotInstanceCountExceeded",
            "VolumeLimitExceeded",
            "MaxIOPSLimitExceeded",
        }
    ),
    "busy": frozenset(
        {
            NO_ANSWER,
            "RequestLimitExceeded",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
            "InternalError",
            "InternalFailure",
            "ServiceUnavailable",
            "Unavailable",
        }
    ),
    "credentials": frozenset(
        {
            NO_CREDENTIALS,
            "AuthFailure",
            "ExpiredToken",
            "ExpiredTokenException",
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "RequestExpired",
            "SignatureDoesNotMatch",
            "UnrecognizedClientException",
        }
    ),
    "denied": frozenset(
        {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "OptInRequired"}
    ),
    "gone": frozenset(
        {
            "InvalidInstanceID.NotFound",
            "InvalidInstanceID.Malformed",
            "InvalidKeyPair.NotFound",
            "InvalidGroup.NotFound",
            "InvalidGroupId.Malformed",
            "InvalidVolume.NotFound",
        }
    ),
}
_DO: Final[dict[Kind, str]] = {
    "capacity": "State other zones or another region, a capacity reservation, or more patience",
    "quota": "Ask AWS for more under Service Quotas, or take a smaller machine",
    "busy": "Try again in a while",
    "credentials": "Renew the credentials (aws sts get-caller-identity shows whose they are)",
    "denied": "See what is missing: runoff doctor aws; runoff doctor aws --policy prints all",
    "gone": "Look at runoff machines",
    "other": "Look at runoff doctor aws",
}


def kind_of(error: ApiError) -> Kind:
    """What an error means."""
    return next((kind for kind, codes in _KINDS.items() if error.code in codes), "other")


def explained(error: ApiError, *, note: str = "") -> InfrastructureError:
    """The error as a user can act on it; ``note`` names a quota or what else is known."""
    seen = f"{error.code}: {error.message.rstrip('.')}{f'. {note}' if note else ''}"
    return InfrastructureError(f"AWS {error.region}", seen, _DO[kind_of(error)])


def still_billed(what: str, error: ApiError) -> StillBilled:
    """That something may go on costing money because a call failed."""
    return StillBilled(
        f"AWS {error.region}",
        f"{what} may still be billed: {error.operation}: {error.code}: "
        f"{error.message.rstrip('.')}",
        f"{_DO[kind_of(error)]}; then: runoff machines --release",
    )

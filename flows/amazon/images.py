"""Which image a machine starts from: by name, by AWS's parameter, or as stated; pinned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from flows.amazon.api import Api
from flows.errors import UsageError

DEEP_LEARNING, UBUNTU, AMAZON_LINUX = "deep-learning", "ubuntu", "amazon-linux"
_PARAMETERS: Final = {
    DEEP_LEARNING: "/aws/service/deeplearning/ami/{architecture}/"
    "base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id",
    UBUNTU: "/aws/service/canonical/ubuntu/server/24.04/stable/current/{short}/"
    "hvm/ebs-gp3/ami-id",
    AMAZON_LINUX: "/aws/service/ami-amazon-linux-latest/"
    "al2023-ami-kernel-default-{architecture}",
}
_USERS: Final = {  # a word of an image's name -> who logs in
    "ubuntu": "ubuntu",
    "amazon linux": "ec2-user",
    "al2023": "ec2-user",
    "amzn": "ec2-user",
    "debian": "admin",
    "rhel": "ec2-user",
}
_CLOSED_DRIVER_ONLY: Final = ("p2.", "p3.", "p3dn.", "g3.", "g3s.")  # older than Turing
_SHORT: Final = {"x86_64": "amd64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image as it is pinned: id, name, its root device, the least volume it needs (GiB)."""

    id: str
    name: str
    root_device: str
    root_gib: int
    user: str
    parameter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFacts:
    """What AWS says of an instance type."""

    name: str
    architecture: str
    vcpus: int
    has_nvidia: bool


def type_facts(api: Api, region: str, instance_type: str) -> TypeFacts:
    """Architecture, vCPUs and accelerators of an instance type."""
    answer = api("ec2", "describe_instance_types", region, InstanceTypes=[instance_type])
    found = answer["InstanceTypes"][0]
    gpus = found.get("GpuInfo", {}).get("Gpus", ())
    return TypeFacts(
        name=instance_type,
        architecture=found["ProcessorInfo"]["SupportedArchitectures"][-1],
        vcpus=found["VCpuInfo"]["DefaultVCpus"],
        has_nvidia=any(gpu.get("Manufacturer", "").lower() == "nvidia" for gpu in gpus),
    )


def resolve_image(
    api: Api, region: str, kind: TypeFacts, stated: str | None, user: str | None
) -> Image:
    """The image that is meant, looked up once: ``latest`` moves, the id does not.

    Raises
    ------
    UsageError
        If it cannot be used, or nobody knows who logs in there.
    """
    wanted = stated or (DEEP_LEARNING if kind.has_nvidia else UBUNTU)
    parameter = parameter_of(wanted, kind)
    image_id = wanted
    if parameter is not None:
        image_id = api("ssm", "get_parameter", region, Name=parameter)["Parameter"]["Value"]
    found = api("ec2", "describe_images", region, ImageIds=[image_id])["Images"]
    if not found:
        raise UsageError(f"aws.image {wanted!r}", f"{region} has no image {image_id}", "")
    return _image(found[0], wanted, parameter, kind, user)


def parameter_of(wanted: str, kind: TypeFacts) -> str | None:
    """The SSM parameter that holds an image's id; None where the id itself is stated."""
    if wanted.startswith("ami-"):
        return None
    if wanted.startswith("/"):
        return wanted
    if wanted not in _PARAMETERS:
        raise UsageError(
            f"aws.image {wanted!r}",
            "this is no image",
            f"State {', '.join(_PARAMETERS)}, a parameter (/aws/service/…) or ami-…",
        )
    if wanted == DEEP_LEARNING and kind.name.startswith(_CLOSED_DRIVER_ONLY):
        raise UsageError(
            f"aws.image {wanted!r}",
            f"its driver does not know the GPUs of {kind.name}",
            "State an image with NVIDIA's proprietary driver (ami-…, or its parameter)",
        )
    short = _SHORT.get(kind.architecture, kind.architecture)
    return _PARAMETERS[wanted].format(architecture=kind.architecture, short=short)


def _image(
    found: dict[str, Any], wanted: str, parameter: str | None, kind: TypeFacts, user: str | None
) -> Image:
    where, name = f"aws.image {wanted!r}", found.get("Name", "")
    architecture = found.get("Architecture", kind.architecture)
    if architecture != kind.architecture:
        raise UsageError(
            where,
            f"it is for {architecture}, {kind.name} is {kind.architecture}",
            "State another image",
        )
    known = (account for word, account in _USERS.items() if word in name.lower())
    account = user or next(known, None)
    if account is None:
        raise UsageError(where, f"nobody knows who logs in to {name!r}", "State aws.user")
    root = found.get("RootDeviceName", "/dev/sda1")
    sizes = [
        mapping["Ebs"].get("VolumeSize", 8)
        for mapping in found.get("BlockDeviceMappings", ())
        if mapping.get("DeviceName") == root and "Ebs" in mapping
    ]
    return Image(
        id=found["ImageId"],
        name=name,
        root_device=root,
        root_gib=max(sizes, default=8),
        user=account,
        parameter=parameter,
    )

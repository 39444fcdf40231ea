"""What a launch needs from outside, and whether a closed site can give it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from catalog.errors import CatalogError
from deploy_templates.plan import Need
from deploy_templates.setting import Setting

AT_PULL = "digest resolved at pull and recorded"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"]+", re.IGNORECASE)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def needs_of(setting: Setting) -> tuple[Need, ...]:
    """Images, wheels, programs, checkpoints and addresses, in this order.

    Raises
    ------
    CatalogError
        If the site is offline and one of them would be fetched from elsewhere.
    """
    found = (*_software(setting), *_checkpoints(setting), *_addresses(setting))
    if setting.request.offline:
        _check_offline(setting, found)
    return found


def _software(setting: Setting) -> Iterator[Need]:
    if setting.in_container:
        reference, _, digest = setting.image_reference.partition("@")
        yield Need(
            kind="image",
            name=reference,
            version=setting.request.version,
            digest=digest or None,
            reason="the server runs in it" if digest else AT_PULL,
        )
        yield Need(
            kind="program",
            name=setting.program(setting.runtime.container.engine),
            reason="runs the image",
        )
    for package in setting.packages:
        yield Need(
            kind="wheel",
            name=package.name,
            version=package.version,
            digest=",".join(f"sha256:{sum_}" for sum_ in package.sha256) or None,
            reason="installed by install.sh" if package.sha256 else "pinned by release only",
        )
    if setting.form.mode == "process":
        yield Need(
            kind="program",
            name=setting.program(setting.form.program),
            version=setting.request.version,
            reason="on the search path, or where programs say",
        )


def _checkpoints(setting: Setting) -> Iterator[Need]:
    request = setting.request
    checkpoint = request.checkpoint
    if setting.runtime.capabilities.simulation:
        return
    reason = {"hub": "by name", "path": "on the host", "dummy": "made here, weights random"}
    yield Need(
        kind="checkpoint",
        name=request.model,
        version=request.variables.revision,
        digest=f"sha256:{checkpoint.sha256}" if checkpoint.sha256 else None,
        reason=reason[checkpoint.kind],
    )
    if request.variables.draft_model is not None:
        yield Need(kind="checkpoint", name=request.variables.draft_model, reason="draft model")


def _addresses(setting: Setting) -> Iterator[Need]:
    request, mirrors = setting.request, setting.request.mirrors
    if setting.in_container:
        yield Need(
            kind="address",
            name=mirrors.registry or _registry(setting.image_reference),
            reason="image registry",
        )
    if setting.packages:
        yield Need(
            kind="address",
            name=mirrors.package_index or "the installer's default package index",
            reason="package index",
        )
    for address in setting.form.addresses:
        yield Need(kind="address", name=address, reason="fetched by install.sh")
    is_simulation = setting.runtime.capabilities.simulation
    is_fetched = setting.location is None or setting.runtime.launch.loads_files
    is_named = request.checkpoint.kind == "hub" and is_fetched
    if (is_named or setting.draft_is_fetched) and not is_simulation:
        yield Need(
            kind="address",
            name=setting.hub_endpoint or "the hub client's default address",
            reason="model hub",
        )


def _registry(reference: str) -> str:
    first, slash, _ = reference.partition("/")
    is_host = slash and ("." in first or ":" in first)
    return first if is_host else "the container engine's default registry"


def _check_offline(setting: Setting, needs: Iterable[Need]) -> None:
    """Every address must be one of the site's own."""
    mirrors = setting.request.mirrors
    own = {
        "image registry": mirrors.registry,
        "package index": mirrors.package_index,
        "model hub": mirrors.hub,
    }
    key = {"image registry": "registry", "package index": "package_index", "model hub": "hub"}
    for need in needs:
        if need.kind == "address" and own.get(need.reason) is None:
            place = f"mirrors.{key[need.reason]}" if need.reason in key else "another form"
            _refuse(setting, f"{need.name} would be needed", place)
    image = setting.request.image
    if (
        setting.in_container
        and image
        and not image.startswith(f"{mirrors.registry}".rstrip("/") + "/")
    ):
        _refuse(setting, f"image {image} is not under {mirrors.registry}", "an image there")
    texts = (*setting.request.extra_args, *setting.request.extra_env.values())
    allowed = {urlsplit(str(mirror)).hostname for mirror in own.values() if mirror}
    for address in (found for text in texts for found in _ADDRESS.findall(text)):
        if urlsplit(address).hostname not in {*_LOOPBACK, *allowed}:
            _refuse(setting, f"{address} would be reached", "an address under mirrors")


def _refuse(setting: Setting, seen: str, do: str) -> None:
    raise CatalogError(setting.where, f"offline: true, but {seen}", f"Give {do}")

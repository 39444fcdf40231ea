"""A runtime's capabilities: releases that are listed, precisions that are known."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.architecture import kv_precision, precision
from catalog.complaints import did_you_mean
from catalog.errors import CatalogError
from catalog.sanity.finding import Finding, Steps
from catalog.schema import Runtime
from catalog.schema.runtime import DeviceSupport


def runtime_findings(runtime: Runtime) -> Iterator[Finding]:
    """What does not fit together in one runtime's capabilities."""
    for index, family in enumerate(runtime.families):
        yield from _release(runtime, ("families", index, "since"), family.since)
    for index, device in enumerate(runtime.devices):
        yield from _release(runtime, ("devices", index, "since"), device.since)
        yield from _release(runtime, ("devices", index, "until"), device.until)
        yield from _precisions(runtime, index, device)


def _release(runtime: Runtime, steps: Steps, version: str | None) -> Iterator[Finding]:
    listed = [known.version for known in runtime.versions]
    if version is not None and version not in listed:
        yield _finding(
            runtime,
            steps,
            f"release {version!r} is not under versions",
            did_you_mean(version, listed),
        )


def _precisions(runtime: Runtime, index: int, device: DeviceSupport) -> Iterator[Finding]:
    here = ("devices", index)
    for kind, known, names in (
        ("weights", precision, device.weights),
        ("kv_cache", kv_precision, device.kv_cache),
    ):
        for position, name in enumerate(names):
            try:
                known(name)
            except CatalogError as error:
                yield _finding(runtime, (*here, kind, position), error.seen, error.do)
    for name in device.compute_capability_by_precision:
        if name not in device.weights:
            yield _finding(
                runtime,
                (*here, "compute_capability_by_precision", name),
                f"{name!r} is not among the weights that are served here",
                did_you_mean(name, device.weights),
            )


def _finding(runtime: Runtime, steps: Steps, seen: str, do: str) -> Finding:
    return Finding(
        severity="error", kind="runtime", name=runtime.name, steps=steps, seen=seen, do=do
    )

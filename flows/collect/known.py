"""The metric names of all runtimes and releases that runoff knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy_templates.plan import Metrics
from deploy_templates.runtime_folder import load_runtime_folder, runtime_folders


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMetrics:
    """What one runtime calls its metrics in the releases up to ``release``."""

    runtime: str
    release: str
    metrics: Metrics


def known_metrics(folders: Sequence[Path] = ()) -> tuple[KnownMetrics, ...]:
    """Names of every runtime by release, the newest first; simulations are none."""
    found: list[KnownMetrics] = []
    for name in runtime_folders(folders):
        runtime = load_runtime_folder(name, folders)
        if not runtime.capabilities.simulation:
            found += [
                KnownMetrics(
                    runtime=name, release=spec.until or runtime.newest, metrics=spec.metrics
                )
                for spec in reversed(runtime.launch.metrics)
            ]
    return tuple(found)

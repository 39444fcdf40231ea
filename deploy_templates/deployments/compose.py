"""A Compose file that starts the container as it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from deploy_templates.deployments.container_words import ContainerRun, Volume, container_run
from deploy_templates.deployments.deployment import Deployment

_PROBE: Final = (
    "curl --fail --silent --output /dev/null {url} || "
    "python3 -c \"import urllib.request as u; u.urlopen('{url}')\""
)


def files(deployment: Deployment) -> Mapping[str, str]:
    """``compose.yaml`` and the plan's files that it mounts."""
    run = container_run(deployment.plan, "compose")
    made = {"compose.yaml": _text(deployment, run)}
    for volume in run.volumes:
        path = volume.source.removeprefix("./")
        if volume.is_file_of_plan and path in deployment.plan.files:
            made[path] = deployment.plan.files[path]
    return made


def _text(deployment: Deployment, run: ContainerRun) -> str:
    secrets = ", ".join(run.secrets) or "none"
    heading = "\n".join(
        deployment.heading(f"Secrets ({secrets}) come from the environment of docker compose.")
    )
    document: dict[str, Any] = {
        "name": deployment.name,
        "services": {"server": dict(_service(deployment, run))},
    }
    named = [v.source for v in run.volumes if not v.is_path and not v.is_file_of_plan]
    if named:
        document["volumes"] = {name: {"name": name} for name in named}
    body = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=96)
    return f"{heading}\n{body}"


def _service(deployment: Deployment, run: ContainerRun) -> Iterator[tuple[str, Any]]:
    plan = deployment.plan
    yield "image", pinned(run.image, deployment.image_digest)
    yield "container_name", deployment.name
    yield "init", True
    entrypoint = run.value("--entrypoint")
    if entrypoint is not None:
        yield "entrypoint", [_kept(entrypoint)]
    yield "command", [_kept(word) for word in run.served]
    yield "ports", list(run.values("--publish"))
    environment: dict[str, str | None] = {
        name: _kept(text) for name, text in sorted({**plan.env, **run.env}.items())
    }
    environment |= dict.fromkeys(run.secrets)
    yield "environment", environment
    if run.volumes:
        yield "volumes", [_mount(volume) for volume in run.volumes]
    if (cores := held_cores(deployment, run)) is not None:
        yield "cpuset", cores
    yield from _limits(run)
    if run.gpus is not None:
        yield "deploy", {"resources": {"reservations": {"devices": [_gpus(run.gpus)]}}}
    url = f"http://127.0.0.1:{plan.port}{plan.health.path}"
    yield (
        "healthcheck",
        {
            "test": ["CMD-SHELL", _kept(_PROBE.format(url=url))],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": f"{deployment.start_s}s",
        },
    )
    yield "stop_signal", plan.stop.signal
    yield "stop_grace_period", f"{deployment.grace_s}s"
    yield "restart", "unless-stopped"


def _limits(run: ContainerRun) -> Iterator[tuple[str, Any]]:
    for option, key in (
        ("--ipc", "ipc"),
        ("--shm-size", "shm_size"),
    ):
        if (value := run.value(option)) is not None:
            yield key, value
    for option, key in (
        ("--device", "devices"),
        ("--group-add", "group_add"),
        ("--cap-add", "cap_add"),
    ):
        if run.values(option):
            yield key, list(run.values(option))
    limits = dict(value.split("=", 1) for value in run.values("--ulimit"))
    if limits:
        yield "ulimits", {name: int(value) for name, value in limits.items()}


def _gpus(ids: tuple[str, ...]) -> dict[str, Any]:
    which: dict[str, Any] = {"device_ids": list(ids)} if ids else {"count": "all"}
    return {"driver": "nvidia", **which, "capabilities": ["gpu"]}


def _mount(volume: Volume) -> str:
    text = f"{volume.source}:{volume.target}"
    return f"{text}:ro" if volume.is_read_only else text


def _kept(word: str) -> str:
    """The word as Compose hands it on: a dollar sign is doubled."""
    return word.replace("$", "$$")


def held_cores(deployment: Deployment, run: ContainerRun) -> str | None:
    """The cores that its words name, else those that it was held to when it was measured."""
    return run.value("--cpuset-cpus") or ",".join(map(str, deployment.cpus)) or None


def pinned(image: str, digest: str | None) -> str:
    """The image with the digest that ran, where it does not name one already."""
    return image if digest is None or "@" in image else f"{image}@{digest}"

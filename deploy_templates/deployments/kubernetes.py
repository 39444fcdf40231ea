"""A Deployment and a Service for Kubernetes that start the container as it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, Final

import yaml

from catalog.errors import CatalogError
from deploy_templates.deployments.compose import held_cores, pinned
from deploy_templates.deployments.container_words import ContainerRun, Volume, container_run
from deploy_templates.deployments.deployment import Deployment

_PERIOD_S: Final = 10
Object = dict[str, Any]


def files(deployment: Deployment) -> Mapping[str, str]:
    """``<name>.yaml`` with all objects."""
    run = container_run(deployment.plan, "kubernetes")
    heading = "\n".join(deployment.heading(*_notes(deployment, run)))
    body = yaml.safe_dump_all(
        _objects(deployment, run), sort_keys=False, allow_unicode=True, width=96
    )
    return {f"{deployment.name}.yaml": f"{heading}\n{body}"}


def _notes(deployment: Deployment, run: ContainerRun) -> Iterator[str]:
    if run.secrets:
        yield f"Secrets ({', '.join(run.secrets)}) are keys of the Secret {deployment.name}."
    yield "Measured on loopback; here the Service carries the traffic."
    cores = held_cores(deployment, run)
    if cores:
        yield f"Measured on the cores {cores}: needs the static CPU manager for whole cores."
    for limit in run.values("--ulimit"):
        yield f"Not expressed here: ulimit {limit}, which is set on the node."
    if run.values("--device") or run.values("--group-add"):
        yield "Devices are mounted as paths of the node, and the container is privileged."
    if run.gpus:
        yield f"Measured on the GPUs {', '.join(run.gpus)}: Kubernetes chooses which ones."


def _objects(deployment: Deployment, run: ContainerRun) -> Iterator[Object]:
    name = deployment.name
    held = {
        volume.source[2:]: _file(deployment, volume)
        for volume in run.volumes
        if volume.is_file_of_plan
    }
    if held:
        yield _head("v1", "ConfigMap", name) | {"data": held}
    for volume in run.volumes:
        if not volume.is_path and not volume.is_file_of_plan:
            yield _claim(volume.source)
    yield _deployment(deployment, run)
    port = deployment.plan.port
    yield _head("v1", "Service", name) | {
        "spec": {"selector": {"app": name}, "ports": [{"port": port, "targetPort": port}]}
    }


def _file(deployment: Deployment, volume: Volume) -> str:
    text = deployment.plan.files.get(volume.source[2:])
    if text is None:
        raise CatalogError(
            "--launch kubernetes",
            f"it cannot carry {volume.source}, which the launch makes on its machine",
            "Take --launch compose or systemd",
        )
    return text


def _head(version: str, kind: str, name: str) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _claim(name: str) -> Object:
    return _head("v1", "PersistentVolumeClaim", name) | {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "200Gi"}},
        }
    }


def _deployment(deployment: Deployment, run: ContainerRun) -> Object:
    name, labels = deployment.name, {"app": deployment.name}
    pod: Object = {
        "terminationGracePeriodSeconds": deployment.grace_s,
        "containers": [dict(_container(deployment, run))],
    }
    if run.value("--ipc") == "host":
        pod["hostIPC"] = True
    volumes = [_volume(deployment, index, each) for index, each in enumerate(run.volumes)]
    volumes += [
        {"name": f"device-{index}", "hostPath": {"path": path}}
        for index, path in enumerate(run.values("--device"))
    ]
    if (size := run.value("--shm-size")) is not None:
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}})
    if volumes:
        pod["volumes"] = volumes
    return _head("apps/v1", "Deployment", name) | {
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
    }


def _container(deployment: Deployment, run: ContainerRun) -> Iterator[tuple[str, Any]]:
    plan = deployment.plan
    yield "name", "server"
    yield "image", pinned(run.image, deployment.image_digest)
    entrypoint = run.value("--entrypoint")
    if entrypoint is not None:
        yield "command", [entrypoint]
    yield "args", [word.replace("$(", "$$(") for word in run.served]
    yield "env", list(_environment(deployment, run))
    yield "ports", [{"containerPort": plan.port}]
    yield "startupProbe", _probe(deployment, ceil(deployment.start_s / _PERIOD_S))
    yield "readinessProbe", _probe(deployment, 1)
    yield "livenessProbe", _probe(deployment, 6)
    if resources := _resources(deployment, run):
        yield "resources", {"requests": resources, "limits": resources}
    mounts = [
        {"name": f"volume-{index}", "mountPath": each.target, "readOnly": each.is_read_only}
        | ({"subPath": each.source[2:]} if each.is_file_of_plan else {})
        for index, each in enumerate(run.volumes)
    ]
    mounts += [
        {"name": f"device-{index}", "mountPath": path}
        for index, path in enumerate(run.values("--device"))
    ]
    if run.value("--shm-size") is not None:
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108 - not a temporary file
    if mounts:
        yield "volumeMounts", mounts
    security: Object = {}
    if run.values("--cap-add"):
        security["capabilities"] = {"add": list(run.values("--cap-add"))}
    if run.values("--device"):
        security["privileged"] = True
    if security:
        yield "securityContext", security


def _environment(deployment: Deployment, run: ContainerRun) -> Iterator[Object]:
    for name, text in sorted({**deployment.plan.env, **run.env}.items()):
        yield {"name": name, "value": text.replace("$(", "$$(")}
    for name in run.secrets:
        reference = {"name": deployment.name, "key": name, "optional": True}
        yield {"name": name, "valueFrom": {"secretKeyRef": reference}}


def _probe(deployment: Deployment, failures: int) -> Object:
    plan = deployment.plan
    return {
        "httpGet": {"path": plan.health.path, "port": plan.port},
        "periodSeconds": _PERIOD_S,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _resources(deployment: Deployment, run: ContainerRun) -> Object:
    found: Object = {}
    if run.gpus is not None:
        found["nvidia.com/gpu"] = len(run.gpus) or deployment.devices
    cores = held_cores(deployment, run)
    if cores:
        found["cpu"] = len(cores.split(","))
    return found


def _volume(deployment: Deployment, index: int, volume: Volume) -> Object:
    name = {"name": f"volume-{index}"}
    if volume.is_file_of_plan:
        return name | {"configMap": {"name": deployment.name}}
    if volume.is_path:
        return name | {"hostPath": {"path": volume.source}}
    return name | {"persistentVolumeClaim": {"claimName": volume.source}}

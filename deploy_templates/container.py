"""A server's words inside an image, and the words that start and clear away the container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deploy_templates.setting import DRAFT_FOLDER, LOOPBACK, Setting
from deploy_templates.words import truth, words


def container_name(setting: Setting) -> str:
    """The container's name: one candidate on one port is one container."""
    return f"runoff-{setting.request.name}-{setting.request.port}"


def run_words(
    setting: Setting, served: tuple[str, ...], env: Mapping[str, str], secret: tuple[str, ...]
) -> tuple[str, ...]:
    """The container engine's command for a server's words; its port is on loopback only."""
    container, request, context = setting.runtime.container, setting.request, setting.context()
    port = request.port
    head = [setting.program(container.engine), "run", "--rm", "--init"]
    head += ["--name", container_name(setting), "--publish", f"{LOOPBACK}:{port}:{port}"]
    for entry in setting.release.formed(container.options, setting.form.name):
        if truth(entry.when, context, setting.where):
            head += words(entry.words, context, setting.where)
    if request.cpus:
        head += ["--cpuset-cpus", ",".join(str(core) for core in request.cpus)]
    for mount in _mounts(setting):
        head += ["--volume", mount]
    for name, text in sorted(env.items()):
        head += ["--env", f"{name}={text}"]
    for name in secret:
        head += ["--env", name]
    if container.entrypoint is not None:
        head += ["--entrypoint", container.entrypoint]
    return (*head, setting.image_reference, *served)


def removal_words(setting: Setting) -> tuple[str, ...]:
    """The command that removes the container whatever became of it; nothing elsewhere."""
    if not setting.in_container:
        return ()
    engine = setting.program(setting.runtime.container.engine)
    return (engine, "rm", "--force", container_name(setting))


def _mounts(setting: Setting) -> Iterator[str]:
    config = setting.config_file
    if setting.location is not None:
        rights = "rw" if setting.runtime.container.writable_model else "ro"
        yield f"{setting.location}:{setting.model_argument}:{rights}"
    draft, seen = setting.request.variables.draft_model, setting.draft_argument
    if draft is not None and seen is not None and seen.startswith(DRAFT_FOLDER):
        yield f"{draft}:{seen}:ro"
    if config is not None:
        yield f"./{config.mount}:{config.mounted_at}:ro"

"""A unit for systemd that starts the launch as it was measured, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from deploy_templates.deployments.deployment import Deployment

ROOT: Final = "/opt/runoff"
SECRETS: Final = "/etc/runoff"


def files(deployment: Deployment) -> Mapping[str, str]:
    """``<name>.service``, and under ``<name>/`` what must lie in its working directory."""
    name = deployment.name
    made = {f"{name}.service": "\n".join(_unit(deployment)) + "\n"}
    for path, text in sorted(deployment.plan.files.items()):
        made[f"{name}/{path}"] = text
    made[f"{name}/install.sh"] = deployment.plan.install.script
    return made


def _unit(deployment: Deployment) -> Iterator[str]:
    plan, name = deployment.plan, deployment.name
    place = f"{ROOT}/{name}"
    secrets = ", ".join(plan.secret_env) or "none"
    yield from deployment.heading(
        f"Copy the folder {name} to {place} and run its install.sh there once.",
        f"Put secrets ({secrets}) into {SECRETS}/{name}.env, mode 600.",
        f"Of the caller's environment it saw {', '.join(plan.inherit_env) or 'nothing'}: "
        "set there what matters.",
        f"The server listens on {plan.host}:{plan.port}, as it was measured.",
    )
    yield "[Unit]"
    yield f"Description={plan.name}: {plan.runtime} {plan.version}, {plan.served_model}"
    yield "Wants=network-online.target"
    yield "After=network-online.target"
    yield ""
    yield "[Service]"
    yield "Type=exec"
    yield f"WorkingDirectory={_inside(place, plan.working_directory)}"
    for key, value in sorted(plan.env.items()):
        yield f"Environment={_quoted(f'{key}={value}', dollar='$')}"
    yield f"EnvironmentFile=-{SECRETS}/{name}.env"
    yield f"ExecStart={' '.join(_command(_held(deployment), place))}"
    if plan.cleanup:
        yield f"ExecStopPost=-{' '.join(_command(plan.cleanup, place))}"
    if plan.mode != "container" and _needs_cores(deployment):
        yield f"CPUAffinity={' '.join(map(str, deployment.cpus))}"
    yield f"KillSignal={plan.stop.signal}"
    yield f"FinalKillSignal={plan.stop.second_signal}"
    yield f"TimeoutStartSec={deployment.start_s}"
    yield f"TimeoutStopSec={deployment.grace_s}"
    yield "Restart=on-failure"
    yield "RestartSec=5"
    yield ""
    yield "[Install]"
    yield "WantedBy=multi-user.target"


def _needs_cores(deployment: Deployment) -> bool:
    """Whether the server was held to cores that its words do not name."""
    words = deployment.plan.argv
    named = "--cpuset-cpus" in words or words[0].endswith("taskset")
    return bool(deployment.cpus) and not named


def _held(deployment: Deployment) -> tuple[str, ...]:
    """The words; a container is held to its cores by its engine, not by the unit."""
    words = deployment.plan.argv
    if deployment.plan.mode != "container" or not _needs_cores(deployment):
        return words
    return (*words[:2], "--cpuset-cpus", ",".join(map(str, deployment.cpus)), *words[2:])


def _inside(place: str, folder: str) -> str:
    return place if folder in ("", ".") else f"{place}/{folder}"


def _command(argv: tuple[str, ...], place: str) -> Iterator[str]:
    """The words as systemd reads them: programs of the launch by their absolute path."""
    for word in argv:
        is_ours = word.startswith(("venv/", "./"))
        yield _quoted(f"{place}/{word.removeprefix('./')}" if is_ours else word)


def _quoted(word: str, dollar: str = "$$") -> str:
    """One word whose specifiers and variables are taken as they are written."""
    text = word.replace("\\", "\\\\").replace('"', '\\"')
    text = "".join(_escaped(character) for character in text)
    text = text.replace("%", "%%").replace("$", dollar)
    is_plain = text and not any(character in text for character in " '\"\\;#")
    return text if is_plain else f'"{text}"'


def _escaped(character: str) -> str:
    if character == "\n":
        return "\\n"
    if character == "\t":
        return "\\t"
    return character if ord(character) >= ord(" ") else f"\\x{ord(character):02x}"

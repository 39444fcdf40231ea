"""A launch plan as the first-boot instructions of a rented machine."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePosixPath

from deploy_templates.plan import LaunchPlan
from deploy_templates.words import document

TEMPLATE = "cloud-init.yaml.j2"
HOME = "/opt/runoff"
_SCRIPT = "0755"
_PLAIN = "0644"


def cloud_init(plan: LaunchPlan, *, home: str = HOME, off_after_min: int | None = None) -> str:
    """cloud-init's user data: the plan's files, its install script, and the server's start.

    ``off_after_min`` powers the machine off after so many minutes, whatever else happens.
    Nothing secret is in it: a machine's user data can be read by all that runs there.
    """
    files = {**plan.files, "install.sh": plan.install.script, "plan.json": plan.text()}
    return document(
        {TEMPLATE: (Path(__file__).parent / "hosts" / TEMPLATE).read_text(encoding="utf-8")},
        TEMPLATE,
        {
            "files": [
                {
                    "path": str(PurePosixPath(home, name)),
                    "permissions": _SCRIPT if name.endswith(".sh") else _PLAIN,
                    "text": text,
                }
                for name, text in sorted(files.items())
            ],
            "commands": _commands(home, off_after_min),
        },
    )


def _commands(home: str, off_after_min: int | None) -> list[list[str]]:
    """Commands as lists of words; the machine's end is arranged before anything starts."""
    there = shlex.quote(home)
    off = [["shutdown", "-P", f"+{off_after_min}"]] if off_after_min is not None else []
    return [
        *off,
        ["sh", "-c", f"cd {there} && exec ./install.sh > install.log 2>&1"],
        [
            "systemd-run",
            "--unit=runoff-server",
            "sh",
            "-c",
            f"cd {there} && exec ./serve.sh > server.log 2>&1",
        ],
    ]

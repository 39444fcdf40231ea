"""``launch/<candidate>/<replication>/aftermath.json``: what the machine showed after a failure.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Any, Literal

from reports.run.number import Frozen

FORMAT = 1


class Explained(Frozen):
    """One cause that the machine tells, and whose it is."""

    whose: Literal["machine", "candidate", "either"]
    words: str


class AftermathFile(Frozen):
    """One failed launch. ``log`` names the server's log beside this file.

    ``kernel`` are the telling lines of the kernel's log since the launch; null where it may
    not be read, and ``why_no_kernel`` says why.
    """

    schema_version: Literal[1] = 1
    host: str
    candidate: str
    launch: str
    seen_at: str
    why: str
    explanations: tuple[Explained, ...] = ()
    kernel: tuple[str, ...] | None = None
    why_no_kernel: str = ""
    devices: dict[str, Any]
    memory: dict[str, int]
    log: str | None = None

"""This machine's facts, from the one place that knows where we run."""

from __future__ import annotations

import datetime as dt
import os
import platform
import resource
from importlib.metadata import version

from flows.system.facts import SystemFacts
from flows.system.read import system_facts
from flows.system.texts import Texts


def facts_here(host_id: str, now: dt.datetime, texts: Texts | None = None) -> SystemFacts:
    """Facts of the machine that this process runs on."""
    return system_facts(
        texts or Texts(),
        host_id,
        now=now,
        architecture=platform.machine(),
        allowed=sorted(os.sched_getaffinity(0)),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE),
        software={"python": platform.python_version(), "runoff": version("runoff")},
    )

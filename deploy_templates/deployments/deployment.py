"""What a deployment is made from: the winner's launch, and what was seen of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from deploy_templates.plan import LaunchPlan

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 50  # leaves room for endings within the 63 characters of a DNS label


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A launch plan and where it comes from.

    ``evidence`` names the run and the SHA-256 of its manifest. ``devices`` is how many
    devices one launch uses. ``image_digest`` is that of the image that ran, None where it is
    not known. ``cpus`` are those that the server was held to when it was measured.
    """

    plan: LaunchPlan
    evidence: str
    devices: int = 1
    image_digest: str | None = None
    cpus: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The candidate's name as units, services and Kubernetes take it."""
        plain = _NOT_IN_NAMES.sub("-", self.plan.name.lower()).strip("-")
        return f"runoff-{plain[:_LONGEST_NAME].strip('-')}"

    @property
    def start_s(self) -> int:
        """How long a start may take, in whole seconds."""
        return ceil(self.plan.readiness.limit_s)

    @property
    def grace_s(self) -> int:
        """How long a stop may take before the second signal, in whole seconds."""
        return ceil(self.plan.stop.grace_s)

    def heading(self, *notes: str) -> Iterator[str]:
        """Comment lines: what this is, what it rests on, and what is not as it was measured."""
        plan = self.plan
        yield f"# {plan.name}: {plan.runtime} {plan.version}, as it was measured."
        yield f"# Evidence: {self.evidence}"
        yield f"# Fingerprint of the launch: {plan.fingerprint}"
        yield from (f"# {note}" for note in notes)

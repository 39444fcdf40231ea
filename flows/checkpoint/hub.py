"""A checkpoint that the engine itself pulls from the model hub, by name and revision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.schema.model import Model
from deploy_templates.request import Checkpoint
from flows.errors import UsageError

_NAME: Final = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
_REVISION: Final = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubCheckpoint:
    """A name on the hub and the revision that was asked for; nothing is downloaded here.

    ``precision`` and ``gated`` are the catalog's word on this name, None where it has none.
    """

    name: str
    revision: str | None
    precision: str | None
    gated: bool | None

    @property
    def pinned(self) -> bool:
        """Whether the revision names one commit, so that later pulls bring the same bytes."""
        return is_commit(self.revision)

    @property
    def statements(self) -> tuple[str, ...]:
        """What has to be said beside a result that this checkpoint gave."""
        said = []
        if not self.pinned:
            named = f"revision {self.revision!r}" if self.revision else "the newest revision"
            said.append(f"{self.name}: {named} can move; a commit of 40 digits would pin it")
        if self.gated:
            said.append(f"{self.name} is gated: its licence must be accepted, HF_TOKEN set")
        if self.gated is None:
            said.append(f"whether {self.name} is gated is not in the catalog")
        return tuple(said)

    @property
    def requested(self) -> Checkpoint:
        """The checkpoint of a launch request."""
        return Checkpoint(kind="hub")


def is_commit(revision: str | None) -> bool:
    """Whether a revision names one commit; a branch or a tag may move."""
    return revision is not None and bool(_COMMIT.fullmatch(revision))


def hub_checkpoint(name: str, revision: str | None, model: Model) -> HubCheckpoint:
    """The reference ``name`` at ``revision``, with what the catalog's ``model`` says of it.

    Raises
    ------
    UsageError
        Where it cannot be a name or a revision on the hub.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            "checkpoint",
            f"{name!r} is no name on the hub",
            "Write owner/name; for a folder of yours use checkpoint: path",
        )
    if revision is not None and not _REVISION.fullmatch(revision):
        raise UsageError(
            "revision", f"{revision!r} is no revision", "Give a commit, a tag or a branch"
        )
    listed = next((each for each in model.checkpoints if each.name == name), None)
    return HubCheckpoint(
        name=name,
        revision=revision,
        precision=listed.precision if listed else None,
        gated=listed.gated if listed else None,
    )


def resolved_revision(checkpoint: HubCheckpoint, hub_cache: Path) -> str | None:
    """The commit that the engine pulled, as the hub's cache on its machine remembers it.

    ``hub_cache`` is the folder with the ``models--…`` entries. None: nothing was pulled there.
    """
    if checkpoint.pinned:
        return checkpoint.revision
    entry = hub_cache / f"models--{checkpoint.name.replace('/', '--')}"
    try:
        commit = (entry / "refs" / (checkpoint.revision or "main")).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return commit if _COMMIT.fullmatch(commit) else None

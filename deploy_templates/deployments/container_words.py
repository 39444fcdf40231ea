"""A container's command taken apart, word by word; a word that is not known is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from catalog.errors import CatalogError
from deploy_templates.plan import LaunchPlan

_ALONE: Final = frozenset({"--rm", "--init"})
_WITH_VALUE: Final = frozenset(
    {
        "--name", "--publish", "--env", "--volume", "--cpuset-cpus", "--gpus", "--ipc",
        "--device", "--group-add", "--ulimit", "--cap-add", "--entrypoint", "--shm-size",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """What is mounted: a path of the host, a named volume, or a file of the plan (``./``)."""

    source: str
    target: str
    is_read_only: bool

    @property
    def is_path(self) -> bool:
        """Whether it is a file or folder of the host."""
        return self.source.startswith("/")

    @property
    def is_file_of_plan(self) -> bool:
        """Whether it is a file that the plan writes."""
        return self.source.startswith("./")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRun:
    """A ``docker run`` as values; ``secrets`` are names whose values come from outside."""

    engine: str
    image: str
    served: tuple[str, ...]
    options: dict[str, list[str]] = field(default_factory=dict)

    def values(self, option: str) -> tuple[str, ...]:
        """All values of an option, in order."""
        return tuple(self.options.get(option, ()))

    def value(self, option: str) -> str | None:
        """The last value of an option; None where it is not given."""
        return self.options[option][-1] if self.options.get(option) else None

    @property
    def env(self) -> dict[str, str]:
        """The environment that is written down."""
        pairs = (value.partition("=") for value in self.values("--env"))
        return {name: text for name, is_given, text in pairs if is_given}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names whose values the caller's environment holds."""
        return tuple(value for value in self.values("--env") if "=" not in value)

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """What is mounted where."""
        return tuple(map(_volume, self.values("--volume")))

    @property
    def gpus(self) -> tuple[str, ...] | None:
        """The ids of its GPUs, empty for all of them, None for none."""
        asked = self.value("--gpus")
        if asked is None:
            return None
        ids = asked.strip('"').removeprefix("device=")
        return () if ids == "all" else tuple(ids.split(","))


def container_run(plan: LaunchPlan, way: str) -> ContainerRun:
    """The container that a plan starts.

    Raises
    ------
    CatalogError
        For a launch that is no container, or an option that ``way`` cannot express.
    """
    if plan.mode != "container":
        raise CatalogError(
            f"--launch {way}",
            f"{plan.name} was measured without a container ({plan.mode})",
            "Take --launch systemd, or measure it in a container: settings {mode: container}",
        )
    words = iter(plan.argv)
    engine = next(words)
    next(words)  # run
    options: dict[str, list[str]] = {}
    image = ""
    for word in words:
        if not word.startswith("-"):
            image = word
            break
        name, has_value, value = word.partition("=")
        if name in _ALONE:
            continue
        if name not in _WITH_VALUE:
            raise CatalogError(
                f"--launch {way}", f"it cannot express {word!r}", "Take --launch systemd"
            )
        options.setdefault(name, []).append(value if has_value else _next(words, name))
    return ContainerRun(engine=engine, image=image, served=tuple(words), options=options)


def _next(words: Iterator[str], option: str) -> str:
    found = next(words, None)
    if found is None:
        raise CatalogError("the plan's argv", f"{option} has no value", "Write the plan again")
    return found


def _volume(text: str) -> Volume:
    source, target, *rights = text.split(":")
    return Volume(source=source, target=target, is_read_only="ro" in rights)

"""One runtime's folder in memory: capabilities, launch, container, templates and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from catalog.capabilities import newest_release
from catalog.complaints import did_you_mean
from catalog.errors import CatalogError
from catalog.load import load_file, load_section
from catalog.schema import Runtime
from deploy_templates.registry import CAPABILITIES, shipped_runtimes
from deploy_templates.releases import Ranged
from deploy_templates.schema import Container, Form, Launch

SHARED = "shared"
_TEXTS = (".j2", ".py", ".sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFolder:
    """Everything that rendering needs of a runtime; ``texts`` are files by their name.

    Templates that several runtimes use are among ``texts`` as ``shared/NAME``.
    """

    capabilities: Runtime
    launch: Launch
    container: Container = field(default_factory=Container)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The runtime's name."""
        return self.capabilities.name

    @property
    def newest(self) -> str:
        """The newest release that is known."""
        return newest_release(self.capabilities)

    def form(self, name: str) -> Form:
        """The form of launch of this name.

        Raises
        ------
        CatalogError
            If the runtime has no such form, with the names of those that it has.
        """
        for form in self.launch.forms:
            if form.name == name:
                return form
        known = [form.name for form in self.launch.forms]
        raise CatalogError(
            f"runtime {self.name!r}", f"it has no form {name!r}", did_you_mean(name, known)
        )


def runtime_folders(folders: Sequence[Path] = ()) -> Mapping[str, Path]:
    """Folder of each runtime by name; those under ``DIR/runtimes`` of a user win over ours."""
    layers = [shipped_runtimes(), *(folder / "runtimes" for folder in folders)]
    return {
        path.parent.name: path.parent
        for layer in layers
        for path in sorted(layer.glob("*/runtime.yaml"))
    }


def load_runtime_folder(name: str, folders: Sequence[Path] = ()) -> RuntimeFolder:
    """The runtime of this name with all that is needed to render it.

    Raises
    ------
    CatalogError
        If there is no such runtime, or a file of its folder cannot be used.
    """
    known = runtime_folders(folders)
    if name not in known:
        raise CatalogError(
            f"runtime {name!r}", "there is no runtime of this name", did_you_mean(name, known)
        )
    return read_runtime_folder(known[name])


def read_runtime_folder(folder: Path) -> RuntimeFolder:
    """The runtime that lies in ``folder``."""
    path, container = folder / "runtime.yaml", folder / "container.yaml"
    loaded = RuntimeFolder(
        capabilities=load_section(path, CAPABILITIES, Runtime),
        launch=load_section(path, "launch", Launch),
        container=load_file(container, Container) if container.exists() else Container(),
        texts={**_texts(shipped_runtimes().parent / SHARED, f"{SHARED}/"), **_texts(folder)},
    )
    _check(loaded, str(path))
    return loaded


def _texts(folder: Path, prefix: str = "") -> dict[str, str]:
    return {
        prefix + path.name: path.read_text(encoding="utf-8")
        for path in sorted(folder.iterdir())
        if path.suffix in _TEXTS
    }


def _check(folder: RuntimeFolder, where: str) -> None:
    """Names that one part of the folder takes from another must be there."""
    launch, texts = folder.launch, folder.texts
    releases = [version.version for version in folder.capabilities.versions]
    forms = {form.name for form in launch.forms}
    for entry in _spans(launch):
        for release in (entry.since, entry.until):
            if release is not None and release not in releases:
                raise CatalogError(
                    where, f"release {release!r} is not among capabilities.versions", "Add it"
                )
        stated = set(getattr(entry, "forms", ()))
        if not stated <= forms:
            raise CatalogError(where, f"unknown forms {sorted(stated - forms)}", "Define them")
    needed = ["install.sh.j2", "serve.sh.j2"]
    needed += [script for form in launch.forms for script in form.scripts]
    for name in needed:
        if name not in texts:
            raise CatalogError(where, f"its folder lacks {name}", "Add the file")
    unpinned = set(releases) - {pin.version for pin in launch.pins}
    if unpinned:
        raise CatalogError(where, f"releases without a pin: {sorted(unpinned)}", "Add them")


def _spans(launch: Launch) -> tuple[Ranged, ...]:
    variables = launch.variables.values()
    return (
        *launch.forms,
        *launch.serve,
        *launch.health,
        *launch.readiness,
        *launch.config_files,
        *launch.metrics,
        *launch.report.version,
        *(item for readings in launch.report.settings.values() for item in readings),
        *(item for variable in variables for item in variable.controls),
        *(item for variable in variables for item in variable.uncontrolled),
    )

"""Where a launch happens: its form, pins, names and places, as the templates see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from catalog.errors import CatalogError
from deploy_templates.plan import Mode
from deploy_templates.releases import F, Release, known_release
from deploy_templates.request import LaunchRequest
from deploy_templates.runtime_folder import RuntimeFolder
from deploy_templates.schema import ConfigFile, Form, Image, Package, Pin, ReadinessSpec
from deploy_templates.words import Context, word

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - in a container, or for load from another machine
DRAFT_FOLDER = "/draft"
FILE_ENDING = ".gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A request with the runtime's answer to where and with what it is started."""

    request: LaunchRequest
    runtime: RuntimeFolder
    release: Release
    form: Form
    pin: Pin

    @property
    def where(self) -> str:
        """The candidate, for complaints."""
        return f"candidate {self.request.name!r}"

    @property
    def in_container(self) -> bool:
        """Whether the server runs in an image."""
        return self.form.mode == "container"

    @property
    def served_model(self) -> str:
        """The model's name that a server is asked to use."""
        return self.request.served_model or self.request.model

    @property
    def readiness(self) -> ReadinessSpec:
        """How this release in this form shows that it is ready."""
        return self.first(self.runtime.launch.readiness, "readiness")

    @property
    def listed_model(self) -> str:
        """The name under which the server lists the model: ours, where it takes one."""
        return word(self.readiness.served_model, self.context(), self.where)

    def first(self, entries: Iterable[F], what: str) -> F:
        """The first entry for this release in this form.

        Raises
        ------
        CatalogError
            If the runtime's folder has none.
        """
        for entry in self.release.formed(entries, self.form.name):
            return entry
        raise CatalogError(
            f"runtime {self.runtime.name!r}",
            f"no {what} for {self.release.known} as {self.form.name}",
            "Add one to its runtime.yaml",
        )

    @property
    def packages(self) -> tuple[Package, ...]:
        """Packages that this form installs."""
        if self.form.mode != "venv":
            return ()
        found = tuple(
            package
            for package in self.pin.packages
            if not package.forms or self.form.name in package.forms
        )
        if found:
            return tuple(self._of_this_release(package) for package in found)
        raise CatalogError(
            self.where,
            f"no package of {self.runtime.name} {self.release.known} is published",
            "Name an image, or choose another release",
        )

    @property
    def hub_endpoint(self) -> str | None:
        """Address of the site's own model hub; None for the hub client's default."""
        hub = self.request.mirrors.hub
        return hub if hub is not None and "://" in hub else None

    @property
    def location(self) -> str | None:
        """The weights' place on the host; None where the engine fetches them by name."""
        checkpoint, hub = self.request.checkpoint, self.request.mirrors.hub
        if checkpoint.location is not None:
            return checkpoint.location
        if checkpoint.kind != "hub":
            raise CatalogError(
                self.where,
                f"a {checkpoint.kind} checkpoint has no location yet",
                "Give the folder or file that holds it",
            )
        if hub and not self.hub_endpoint:
            return f"{hub}/{self.request.model}"
        if self.runtime.launch.loads_files:
            raise CatalogError(
                self.where,
                f"{self.runtime.name} loads a file and fetches nothing by name",
                "Give the file's path as the checkpoint's location",
            )
        return None

    @property
    def model_argument(self) -> str:
        """What the engine is told to load: the place as it sees it, or the hub's name."""
        if self.location is None:
            return self.request.model
        return self.seen(self.location, self.runtime.container.model_folder)

    @property
    def draft_argument(self) -> str | None:
        """The draft model as the engine sees it."""
        draft = self.request.variables.draft_model
        if draft is None or self.draft_is_fetched:
            return draft
        if self.runtime.launch.loads_files and not draft.endswith(FILE_ENDING):
            raise CatalogError(
                f"{self.where}, draft_model",
                f"{self.runtime.name} loads a file and fetches {draft!r} from nowhere",
                f"Give the path of a {FILE_ENDING} file",
            )
        return self.seen(draft, DRAFT_FOLDER)

    @property
    def draft_is_fetched(self) -> bool:
        """Whether the engine fetches a draft model by its hub's name."""
        draft = self.request.variables.draft_model
        is_path = draft is None or draft.startswith("/") or self.runtime.launch.loads_files
        return not is_path

    @property
    def fetches(self) -> bool:
        """Whether the engine asks the hub for anything."""
        return self.location is None or self.draft_is_fetched

    def seen(self, path: str, folder: str) -> str:
        """A path of the host as the server sees it."""
        return f"{folder}/{PurePosixPath(path).name}" if self.in_container else path

    def _of_this_release(self, package: Package) -> Package:
        """The pinned package, or the one of a release between pinned ones, without hashes."""
        if self.release.is_known:
            return package
        if package.version != self.release.known:
            raise CatalogError(
                self.where,
                f"which {package.name} holds {self.runtime.name} {self.release.asked} is not "
                "known",
                f"Use {self.release.known}, or describe it in a runtime folder of your own",
            )
        return package.model_copy(update={"version": self.release.asked, "sha256": ()})

    @property
    def image(self) -> Image | None:
        """The pinned image for this form and class of devices; None where none is known."""
        for image in self.pin.images:
            fits_form = not image.forms or self.form.name in image.forms
            classes = image.device_classes
            if fits_form and (not classes or self.request.device_class in classes):
                return self._image_of_this_release(image)
        return None

    def _image_of_this_release(self, image: Image) -> Image | None:
        if self.release.is_known:
            return image
        if "{version}" not in image.tag:
            return None
        return image.model_copy(update={"digest": None, "unverified": True})

    @property
    def image_reference(self) -> str:
        """The image by digest where it is known, else by tag; the site's registry in front.

        Raises
        ------
        CatalogError
            If neither the candidate nor the runtime names an image.
        """
        if self.request.image is not None:
            return self.request.image
        if self.image is None:
            raise CatalogError(
                self.where,
                f"{self.runtime.name} {self.release.known} has no image for "
                f"{self.request.device_class}",
                "Name one: image: …",
            )
        image, registry = self.image, self.request.mirrors.registry
        name = (
            f"{registry.rstrip('/')}/{_without_registry(image.name)}"
            if registry
            else image.name
        )
        tag = image.tag.replace("{version}", self.request.version)
        return f"{name}@{image.digest}" if image.digest else f"{name}:{tag}"

    def program(self, name: str, default: str | None = None) -> str:
        """Where the host keeps a program; inside an image its plain name."""
        if self.in_container and name != self.runtime.container.engine:
            return name
        return self.request.programs.get(name, default or name)

    def context(self) -> Context:
        """Names that templates and expressions may use."""
        request = self.request
        return {
            **asdict(request.variables),
            "draft_model": self.draft_argument,
            "host": EVERYWHERE if self.in_container or request.is_open else LOOPBACK,
            "port": request.port,
            "model": self.model_argument,
            "model_name": request.model,
            "served_model": self.served_model,
            "checkpoint_kind": request.checkpoint.kind,
            "location": self.location,
            "is_local": self.location is not None,
            "fetches": self.fetches,
            "device_class": request.device_class,
            "form": self.form.name,
            "mode": self.form.mode,
            "version": request.version,
            "variant": request.variant,
            "offline": request.offline,
            "hub_endpoint": self.hub_endpoint,
            "package_index": request.mirrors.package_index,
            "cpus": request.cpus,
            "devices": request.devices,
            "program": self.program,
            "config_path": self._config_path(),
        }

    @property
    def config_file(self) -> ConfigFile | None:
        """The configuration file of this form; None where it takes none."""
        files = self.release.formed(self.runtime.launch.config_files, self.form.name)
        return files[0] if files else None

    def _config_path(self) -> str | None:
        config = self.config_file
        if config is None:
            return None
        return config.container_path if self.in_container else config.path


def setting_of(request: LaunchRequest, runtime: RuntimeFolder) -> Setting:
    """The form, release and pins that a request leads to.

    Raises
    ------
    CatalogError
        If the runtime knows no such release or form, or has lost the form since.
    """
    release = release_of(runtime, request.version)
    form = _form(request, runtime, release)
    pin = next(pin for pin in runtime.launch.pins if pin.version == release.known)
    return Setting(request=request, runtime=runtime, release=release, form=form, pin=pin)


def first_form(
    runtime: RuntimeFolder, version: str, mode: Mode | None, device_class: str, where: str
) -> Form:
    """The runtime's first form of that mode (of any, if None) for the release and device.

    Raises
    ------
    CatalogError
        If the release is not known or is not started in that mode; with the modes it has.
    """
    release = release_of(runtime, version)
    forms = runtime.launch.forms
    there = [form for form in forms if release.covers(form) and form.computes_on(device_class)]
    for form in there:
        if mode is None or form.mode == mode:
            return form
    modes = ", ".join(dict.fromkeys(form.mode for form in there))
    raise CatalogError(
        where,
        f"{runtime.name} {version} is not started as {mode or 'anything'} on {device_class}",
        f"Its modes are {modes}" if modes else "Choose another runtime, release or device",
    )


def release_of(runtime: RuntimeFolder, version: str) -> Release:
    """The known release that stands for ``version``; CatalogError outside the known ones."""
    order = [known.version for known in runtime.capabilities.versions]
    return known_release(runtime.name, order, version)


def _form(request: LaunchRequest, runtime: RuntimeFolder, release: Release) -> Form:
    where = f"candidate {request.name!r}"
    if request.variant is None:
        return first_form(runtime, request.version, request.mode, request.device_class, where)
    form = runtime.form(request.variant)
    if not release.covers(form):
        reason = form.removed or f"it is from {form.since or '…'} to {form.until or '…'}"
        raise CatalogError(
            where,
            f"{runtime.name} {release.asked} has no form {form.name!r}: {reason}",
            "Choose another form or release",
        )
    if not form.computes_on(request.device_class):
        raise CatalogError(
            where,
            f"{runtime.name} as {form.name!r} does not compute on {request.device_class}: "
            f"it is built for {', '.join(form.device_classes)}",
            "Choose another form",
        )
    return form


def _without_registry(name: str) -> str:
    first, slash, rest = name.partition("/")
    return rest if slash and ("." in first or ":" in first) else name

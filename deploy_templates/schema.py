"""The launch part of a ``runtime.yaml``: pins, forms, variables to flags, and manners.

Everything with ``since`` and ``until`` holds for the releases between them, both included.
Texts are Jinja templates where their docstring says so; words are never joined into a shell
line.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from catalog.schema.device import DeviceClass
from catalog.schema.fields import Flag, Real, Strict, Whole
from deploy_templates.observables import ANSWERED, OBSERVABLES
from deploy_templates.plan import (
    AnswerField,
    Failure,
    Metrics,
    MetricsDialect,
    Mode,
    Phase,
    Series,
    Stop,
)
from deploy_templates.request import Variables

VARIABLES = tuple(field.name for field in fields(Variables))


def _is_variable(name: str) -> str:
    if name not in VARIABLES:
        raise ValueError(f"{name!r} is no controlled variable; known: {', '.join(VARIABLES)}")
    return name


VariableName = Annotated[str, AfterValidator(_is_variable)]
Scalar = str | Flag | Whole | Real


class Span(Strict):
    """Releases for which an entry holds, and the forms of launch; empty means all."""

    since: str | None = None
    until: str | None = None
    forms: tuple[str, ...] = ()


class Package(Strict):
    """A package of the package index: exact release, and hashes of its files.

    The hashes are those of the files for ``machines`` (as ``uname -m`` names them).
    """

    name: str
    version: str
    sha256: tuple[str, ...] = ()
    machines: tuple[str, ...] = ("x86_64",)
    forms: tuple[str, ...] = ()

    @property
    def exact(self) -> str:
        """The requirement of exactly this release."""
        return f"{self.name}=={self.version}"

    @property
    def hashed(self) -> str:
        """The requirement that only files with the recorded hashes fulfil."""
        return " ".join((self.exact, *(f"--hash=sha256:{digest}" for digest in self.sha256)))


class Image(Strict):
    """A container image; a null digest is resolved when it is pulled, and recorded then.

    ``{version}`` in the tag is the release; an ``unverified`` tag was derived, not seen.
    """

    name: str
    tag: str
    digest: str | None = None
    device_classes: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    unverified: Flag = False


class Pin(Strict):
    """What exactly one release is made of."""

    version: str
    packages: tuple[Package, ...] = ()
    images: tuple[Image, ...] = ()
    python: str | None = None


class Form(Strict):
    """One way to start the runtime; the first form of a mode is that mode's default.

    ``command`` are templates of the words before the flags; ``program`` is what a process
    calls by name; ``scripts`` are files of the runtime's folder that the command runs;
    ``addresses`` are places that its install step fetches from beside images and packages.
    ``device_classes`` are those that its build computes on (empty: all of the runtime's).
    """

    name: str
    mode: Mode
    title: str
    command: tuple[str, ...]
    program: str = ""
    scripts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    since: str | None = None
    until: str | None = None
    removed: str | None = None
    threats: tuple[str, ...] = ()

    def computes_on(self, device_class: str) -> bool:
        """Whether its build makes use of a device of this class."""
        return not self.device_classes or device_class in self.device_classes


class Always(Span):
    """Words, environment and configuration of every launch.

    ``words`` and the values of ``env`` are templates; values of ``config`` that begin with
    ``= `` are expressions, all else stands as it is. ``json`` are flags whose value is a JSON
    object, and entries of it as in ``config``; entries of several variables are joined.
    ``when`` is an expression.
    """

    words: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    config: dict[str, Scalar | None] = Field(default_factory=dict)
    json_flags: dict[str, dict[str, Scalar]] = Field(default_factory=dict, alias="json")
    when: str | None = None


class Control(Span):
    """How a variable is asked for: a flag with a value, words, environment, configuration.

    ``value`` is the template of what follows ``flag``; ``values`` maps an asked value to the
    word after the flag, or to whole words (an empty list: this release does so anyway).
    ``words``, ``env`` and ``config`` are as in ``Always``. ``refused`` and ``threats`` give a
    reason by value, ``otherwise`` for all values that ``values`` lacks. ``stands_with`` names
    the variable whose words ask for this one too. The first control whose ``when`` holds is
    taken.
    """

    flag: str | None = None
    aliases: tuple[str, ...] = ()
    value: str = "{{ value }}"
    values: dict[str, Scalar | tuple[str, ...]] | None = None
    words: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    config: dict[str, Scalar | None] = Field(default_factory=dict)
    json_flags: dict[str, dict[str, Scalar]] = Field(default_factory=dict, alias="json")
    requires: tuple[VariableName, ...] = ()
    refused: dict[str, str] = Field(default_factory=dict)
    threats: dict[str, str] = Field(default_factory=dict)
    otherwise: str = ""
    threat: str | None = None
    stands_with: VariableName | None = None
    when: str | None = None

    @model_validator(mode="after")
    def _says_how(self) -> Control:
        ways = (self.flag, self.words, self.env, self.config, self.json_flags)
        if not any((*ways, self.values, self.stands_with)):
            raise ValueError(
                "a control needs a flag, words, env, config, json, values or stands_with"
            )
        if self.flag is not None and self.words:
            raise ValueError("a control has a flag with its value, or words, not both")
        return self


class Uncontrolled(Span):
    """Why a runtime cannot control a variable, and whether asking for it is an error."""

    then: Literal["error", "threat"]
    why: str
    when: str | None = None


class Variable(Strict):
    """One controlled variable under this runtime.

    ``unset`` says what the engine certainly does where the variable was not asked for;
    without it the engine must report its default, or the plan names a threat.
    """

    controls: tuple[Control, ...] = ()
    uncontrolled: tuple[Uncontrolled, ...] = ()
    unset: str | None = None


class Reading(Span):
    """Where the running server reports one thing (see ``deploy_templates.plan.Reported``).

    ``values`` maps an asked value to the server's word for it; null: it has several words, so
    the value is only recorded.
    """

    path: str = ""
    key: str
    dialect: Literal["json", "prometheus", "log"] = "json"
    compare: Literal["equal", "at_least", "starts_with", "record"] = "equal"
    values: dict[str, str | None] = Field(default_factory=dict)


class ReportSpec(Strict):
    """Readings of the release and of the variables."""

    version: tuple[Reading, ...] = ()
    settings: dict[str, tuple[Reading, ...]] = Field(default_factory=dict)


def _is_observable(series: dict[str, Series]) -> dict[str, Series]:
    for name, one in series.items():
        if name not in OBSERVABLES:
            known = ", ".join(OBSERVABLES)
            raise ValueError(f"{name!r} is nothing that we read of an engine; known: {known}")
        if one.kind not in OBSERVABLES[name].kinds:
            kinds = " or ".join(OBSERVABLES[name].kinds)
            raise ValueError(f"{name} is a {kinds}, not a {one.kind}")
    return series


def _is_answered(answers: dict[str, AnswerField]) -> dict[str, AnswerField]:
    for name in answers:
        if name not in ANSWERED:
            known = ", ".join(ANSWERED)
            raise ValueError(f"{name!r} is nothing that we read of an answer; known: {known}")
    return answers


class MetricsSpec(Span):
    """Where a release's counters are and what it calls them; what is not named is missing."""

    path: str
    dialect: MetricsDialect
    series: Annotated[dict[str, Series], AfterValidator(_is_observable)] = Field(
        default_factory=dict
    )
    answers: Annotated[dict[str, AnswerField], AfterValidator(_is_answered)] = Field(
        default_factory=dict
    )

    @property
    def metrics(self) -> Metrics:
        """The same as a part of a launch plan."""
        return Metrics(
            path=self.path, dialect=self.dialect, series=self.series, answers=self.answers
        )


class HealthSpec(Span):
    """Where the server says that it lives (see ``deploy_templates.plan.Health``)."""

    path: str
    ready_status: Whole = 200


class ReadinessSpec(Span):
    """How a start shows one token; the limit grows with the weights to be read.

    ``served_model`` is the template of the name under which the server lists the model.
    """

    served_model: str = "{{ served_model }}"
    models_path: str = "/v1/models"
    completion_path: str = "/v1/completions"
    dialect: str = "openai"
    limit_s: Real = Field(gt=0)
    limit_s_per_gib: Real = Field(default=0.0, ge=0)


class ConfigFile(Span):
    """The file into which ``config`` entries go, under nested keys.

    In a container ``mount`` (the file, or a folder that holds it) appears as ``mounted_at``,
    and the server reads ``container_path``.
    """

    path: str
    format: Literal["json", "yaml"]
    mount: str = ""
    mounted_at: str = ""
    container_path: str = ""


class Launch(Strict):
    """How this runtime is started, watched and stopped.

    ``loads_files``: the engine fetches nothing by a hub's name. ``slots``: each sequence has a
    context of its own, allocated up front. ``refused_arguments`` are flags that no candidate
    may pass by itself, with the reason; ``other_flags`` are flags of the engine that begin as
    a managed one does and are none of it; ``verified`` are releases that were really run, or
    whose declared flags were compared.
    """

    forms: tuple[Form, ...] = Field(min_length=1)
    pins: tuple[Pin, ...] = Field(min_length=1)
    serve: tuple[Always, ...] = ()
    config_files: tuple[ConfigFile, ...] = ()
    loads_files: Flag = False
    slots: Flag = False
    variables: dict[VariableName, Variable]
    managed_env: tuple[str, ...] = ()
    secret_env: tuple[str, ...] = ()
    health: tuple[HealthSpec, ...] = Field(min_length=1)
    readiness: tuple[ReadinessSpec, ...] = Field(min_length=1)
    report: ReportSpec
    metrics: tuple[MetricsSpec, ...] = ()
    stop: Stop = Stop()
    failures: tuple[Failure, ...] = ()
    phases: tuple[Phase, ...] = ()
    threats: tuple[str, ...] = ()
    refused_arguments: dict[str, str] = Field(default_factory=dict)
    other_flags: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _every_variable_is_answered(self) -> Launch:
        missing = [name for name in VARIABLES if name not in self.variables]
        if missing:
            raise ValueError(
                f"variables say nothing of {', '.join(missing)}; "
                "a variable is controlled, or uncontrolled with its reason"
            )
        return self


class Container(Strict):
    """How the runtime's image is started: ``container.yaml``.

    ``options`` stand before the image; ``entrypoint`` replaces the image's own. Weights on the
    host are mounted under ``model_folder``.
    """

    engine: str = "docker"
    options: tuple[Always, ...] = ()
    entrypoint: str | None = None
    model_folder: str = "/model"
    writable_model: Flag = False

"""A launch as data: what starts, how it shows that it is ready, what it may not hide.

A plan is made from a candidate and a runtime and changes nothing by itself; ``text`` writes
the same bytes for the same plan, and ``read_plan`` reads them back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from catalog.errors import CatalogError
from deploy_templates.observables import Kind

SCHEMA_VERSION: Final = 1

Mode = Literal["process", "venv", "container"]
MetricsDialect = Literal["prometheus", "iterations"]
NeedKind = Literal["image", "wheel", "program", "checkpoint", "address"]
Asked = str | int | float | bool | None
_CLOSED = ConfigDict(extra="forbid", strict=False, allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Where the server says that it lives, and the HTTP status that says so."""

    __pydantic_config__ = _CLOSED
    path: str
    ready_status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """How one generated token is asked for, and how long a start may take."""

    __pydantic_config__ = _CLOSED
    models_path: str
    completion_path: str
    dialect: str
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """One thing that the running server says of itself: a key of the JSON under a path.

    ``key`` is dotted, list positions are numbers. ``dialect`` says how it is written:
    ``json``; ``prometheus``, where the key is ``series`` or ``series{label}``, a label's
    value; ``log``, where it is a regular expression whose first group is the value.
    ``expected`` is the server's own word for what was asked, None where nothing was: then the
    value is only kept. ``compare`` says when they agree: numbers and texts ``equal`` (letters'
    case aside), ``at_least`` the number, ``starts_with`` the text; ``record`` only keeps it.
    """

    __pydantic_config__ = _CLOSED
    variable: str
    path: str
    key: str
    dialect: Literal["json", "prometheus", "log"] = "json"
    compare: Literal["equal", "at_least", "starts_with", "record"] = "equal"
    expected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Where the server reports its release and its settings."""

    __pydantic_config__ = _CLOSED
    version: Reported | None
    settings: tuple[Reported, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One of the server's own time series; its value times ``scale`` is in our unit.

    An ``amount`` is what was added since the last reading, a ``counter`` what ever was. Of
    samples with other ``labels`` nothing is taken.
    """

    __pydantic_config__ = _CLOSED
    name: str
    kind: Kind
    scale: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerField:
    """A number in the last events of an answer; times ``scale`` it is in seconds.

    ``key`` is dotted, from the top of the event's JSON object.
    """

    __pydantic_config__ = _CLOSED
    key: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Where the server's own counters are, which dialect they speak, what they are called.

    ``prometheus`` is its text format; ``iterations`` a JSON list of what happened in each
    step since it was last read, with dotted keys for names. ``series`` maps what we read
    (``observables``) to the release's name for it; what is not in it is not offered by this
    release. ``answers`` does the same for what an answer says of its own request.
    """

    __pydantic_config__ = _CLOSED
    path: str
    dialect: MetricsDialect
    series: Mapping[str, Series] = field(default_factory=dict)
    answers: Mapping[str, AnswerField] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A first signal, how long it may take, and the second one."""

    __pydantic_config__ = _CLOSED
    signal: str = "SIGTERM"
    grace_s: float = 10.0
    second_signal: str = "SIGKILL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A line of the log that ends the wait: what it means and what to do."""

    __pydantic_config__ = _CLOSED
    pattern: str
    error: str
    means: str
    do: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of the start that ends with the first line of the log that fits the pattern."""

    __pydantic_config__ = _CLOSED
    name: str
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """The shell script that puts the pinned release on a machine."""

    __pydantic_config__ = _CLOSED
    mode: Mode
    script: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing from outside that the launch needs before or while it starts.

    ``digest`` is None where nobody can know it beforehand; ``reason`` says so then.
    """

    __pydantic_config__ = _CLOSED
    kind: NeedKind
    name: str
    version: str | None = None
    digest: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """One controlled variable: what was asked, and the words that ask the engine for it.

    ``rendered`` is empty where the engine's default stands. ``how`` is ``rendered``,
    ``engine default``, ``by construction`` (the release does so without a flag) or ``threat``
    (asked, and this runtime cannot do it); ``note`` says more. ``read_back`` says where the
    server reports it, or is None.
    """

    __pydantic_config__ = _CLOSED
    asked: Asked
    rendered: tuple[str, ...] = ()
    how: Literal["rendered", "engine default", "by construction", "threat"] = "rendered"
    note: str = ""
    read_back: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmanaged:
    """What a candidate hands to the engine beside its controlled variables, verbatim."""

    __pydantic_config__ = _CLOSED
    image: str | None = None
    extra_args: tuple[str, ...] = ()
    extra_env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """Everything that a launch does and must show, with the fingerprint of its identity.

    ``files`` are written under ``working_directory`` (both relative to the launch's folder)
    before ``argv`` is started there. The process sees ``env``, and of the caller's environment
    only what ``inherit_env`` and ``secret_env`` name: a forgotten export moves no number. The
    values of ``secret_env`` are never written down. ``cleanup`` is run after every stop.
    """

    __pydantic_config__ = _CLOSED
    schema_version: Literal[1] = SCHEMA_VERSION
    runtime: str
    version: str
    mode: Mode
    form: str
    simulation: bool
    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    inherit_env: tuple[str, ...]
    secret_env: tuple[str, ...]
    files: Mapping[str, str]
    working_directory: str
    host: str
    port: int
    served_model: str
    health: Health
    readiness: Readiness
    report: Report
    metrics: Metrics | None
    stop: Stop
    cleanup: tuple[str, ...]
    failures: tuple[Failure, ...]
    phases: tuple[Phase, ...]
    install: Install
    needs: tuple[Need, ...]
    controlled: Mapping[str, Controlled]
    threats: tuple[str, ...]
    unmanaged: Unmanaged
    fingerprint: str

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values, ready for JSON."""
        written: dict[str, Any] = _PLAN.dump_python(self, mode="json")
        return written

    def text(self) -> str:
        """The plan as a file: sorted keys, one value a line, the same bytes every time."""
        return (
            json.dumps(
                self.to_json(), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False
            )
            + "\n"
        )


_PLAN: TypeAdapter[LaunchPlan] = TypeAdapter(LaunchPlan)


def read_plan(text: str, where: str) -> LaunchPlan:
    """The plan that ``LaunchPlan.text`` wrote; ``where`` is the file's name for complaints.

    Raises
    ------
    CatalogError
        If the text is no JSON, or not a plan of this schema version.
    """
    do = "Write it again with runoff plan"
    try:
        return _PLAN.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise CatalogError(where, f"{place}: {first['msg']}", do) from None

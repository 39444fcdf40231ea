"""A candidate's own arguments and environment against what runoff manages itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase as fnmatch

from catalog.errors import CatalogError
from deploy_templates.request import LaunchRequest
from deploy_templates.schema import Always, Control, Launch

THE_LAUNCH = "the launch itself"
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|_KEY$|CREDENTIAL", re.IGNORECASE)
# Tokens of the Hugging Face hub, of OpenAI, GitHub and AWS, and passwords within addresses.
_SECRET_VALUE = re.compile(
    r"hf_[A-Za-z0-9]{20}|sk-[\w-]{20}|gh[a-z]_\w{20}|github_pat_\w{20}|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|://[^/@\s:]+:[^/@\s]+@"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def managed_flags(launch: Launch) -> Mapping[str, str]:
    """Flags that runoff sets in some release, plainly written → the variable they are for."""
    managed: dict[str, str] = {}
    for name, entry in _entries(launch):
        for flag in (*_flags(entry), *entry.aliases):
            managed.setdefault(plain_flag(flag), name)
    return managed


def managed_environment(launch: Launch) -> Mapping[str, str]:
    """Names of the environment (or patterns of them) that runoff sets → what they are for."""
    managed = dict.fromkeys(launch.managed_env, THE_LAUNCH)
    managed |= {name: THE_LAUNCH for entry in launch.serve for name in entry.env}
    for variable, spec in launch.variables.items():
        managed |= {name: variable for control in spec.controls for name in control.env}
    return managed


def check_unmanaged(request: LaunchRequest, launch: Launch, where: str) -> None:
    """Refuse extra arguments and environment that would override what runoff controls.

    Raises
    ------
    CatalogError
        With the argument, the controlled variable that it belongs to, and what to write.
    """
    _check_texts(request, where)
    flags = managed_flags(launch)
    for argument in request.extra_args:
        if not argument.startswith("-"):
            continue
        for flag, why in launch.refused_arguments.items():
            if plain_flag(argument) == plain_flag(flag):
                raise CatalogError(f"{where}, extra_args", f"{flag} {why}", "Take it out")
        owner = _owner(plain_flag(argument), flags, launch.other_flags)
        if owner is not None:
            raise CatalogError(
                f"{where}, extra_args", f"{argument!r} {_belongs(owner)}", _do(owner)
            )
    environment = managed_environment(launch)
    for name in request.extra_env:
        owner = next(
            (environment[known] for known in environment if fnmatch(name, known)), None
        )
        if owner is not None:
            raise CatalogError(f"{where}, extra_env", f"{name} {_belongs(owner)}", _do(owner))
        if name in launch.secret_env or _SECRET.search(name):
            raise CatalogError(
                f"{where}, extra_env",
                f"{name} would be written into the plan",
                f"Export it where runoff runs; {', '.join(launch.secret_env) or 'no name'} "
                "is handed on without being written down",
            )


def plain_flag(argument: str) -> str:
    """A flag without its value, its nested key, its ``no-``, and the spelling of its dashes."""
    name = re.split(r"[=.]", argument.replace("_", "-"), maxsplit=1)[0]
    name = re.sub(r"^(-[A-Za-z])[0-9]+$", r"\1", name)  # -O3
    return f"--{name[5:]}" if name.startswith("--no-") else name


def _check_texts(request: LaunchRequest, where: str) -> None:
    """Texts that no process can be given, and those that should not be written down."""
    places = {
        **{f"extra_args, {index}": text for index, text in enumerate(request.extra_args)},
        **{f"extra_env, {name}": text for name, text in request.extra_env.items()},
    }
    for name in request.extra_env:
        if not _NAME.fullmatch(name):
            raise CatalogError(
                f"{where}, extra_env",
                f"{name!r} is no name of the environment",
                "Use letters, digits and underscores",
            )
    for place, text in places.items():
        if "\0" in text:
            raise CatalogError(f"{where}, {place}", "it holds a NUL character", "Take it out")
        if _SECRET_VALUE.search(text):
            raise CatalogError(
                f"{where}, {place}",
                "it looks like a secret and would be written into the plan",
                "Export it where runoff runs, under a name that the runtime hands on",
            )


def _owner(flag: str, managed: Mapping[str, str], others: Collection[str]) -> str | None:
    """What a flag is for, also when it is shortened as parsers of Python allow."""
    if flag in managed:
        return managed[flag]
    if not flag.startswith("--") or flag in others:
        return None
    return next((managed[known] for known in managed if known.startswith(flag)), None)


def _entries(launch: Launch) -> Iterable[tuple[str, Always | Control]]:
    yield from ((THE_LAUNCH, entry) for entry in launch.serve)
    for name, variable in launch.variables.items():
        yield from ((name, control) for control in variable.controls)


def _flags(entry: Always | Control) -> Iterable[str]:
    words: list[str] = [*entry.words, *entry.json_flags]
    if isinstance(entry, Control):
        words += [entry.flag] if entry.flag else []
        for mapped in (entry.values or {}).values():
            words += mapped if isinstance(mapped, tuple) else ()
    return (word for word in words if word.startswith("-") and not word.startswith("-{"))


def _belongs(owner: str) -> str:
    return "is set by the launch" if owner == THE_LAUNCH else f"is what {owner} controls"


def _do(owner: str) -> str:
    return "Take it out" if owner == THE_LAUNCH else f"Write settings: {{{owner}: …}} instead"

"""Record what a release declares: ``python -m deploy_templates.record_flags PACKAGE WHEEL``.

Reads the flags, environment variables and metric names out of a wheel (or an unpacked
folder) without importing it, and prints them as JSON for ``runtimes/NAME/flags/``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy_templates.declared_flags import (
    Flag,
    Source,
    annotated_flags,
    called_flags,
    field_flags,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Where a package declares its server's flags, variables and metrics."""

    declared_in: tuple[str, ...]
    defined_in: tuple[str, ...] = ()
    flag_classes: tuple[str, ...] = ()
    environment_in: tuple[str, ...] = ()
    metrics: re.Pattern[str]


_ENVIRONMENT = re.compile(r"[\"']([A-Z][A-Z0-9]*_[A-Z0-9_]+)[\"']")
RECIPES = {
    "vllm": Recipe(
        declared_in=(
            "vllm/engine/arg_utils.py",
            "vllm/entrypoints/openai/cli_args.py",
            "vllm/entrypoints/common/cli_args.py",
            "vllm/entrypoints/launchers/cli_args.py",
        ),
        defined_in=("vllm/config.py", "vllm/config/"),
        flag_classes=("FrontendArgs",),
        environment_in=("vllm/envs.py",),
        metrics=re.compile(r"[\"'](vllm:[a-z0-9_]+)[\"']"),
    ),
    "sglang": Recipe(
        declared_in=("sglang/srt/server_args.py", "sglang/srt/arg_groups/fields/"),
        metrics=re.compile(r"[\"'](sglang:[a-z0-9_]+)[\"']"),
    ),
}


def recorded(
    recipe_name: str, version: str, files: Mapping[str, str], digest: str, wheel: str
) -> dict[str, Any]:
    """The record of one release: ``files`` are its Python sources by path."""
    recipe = RECIPES[recipe_name]
    source = Source(_under(files, (*recipe.declared_in, *recipe.defined_in)))
    flags = [*called_flags(source), *annotated_flags(source)]
    for name in recipe.flag_classes:
        flags += field_flags(source, name)
    return {
        "package": wheel.partition("-")[0] or recipe_name,
        "version": version,
        "wheel": wheel,
        "sha256": digest,
        "flags": {flag.names[0]: _entry(flag) for flag in sorted(flags, key=_first)},
        "environment": _found(_ENVIRONMENT, _under(files, recipe.environment_in)),
        "metrics": _found(recipe.metrics, files.values()),
    }


def sources_of(place: Path) -> Mapping[str, str]:
    """Python sources of a wheel or an unpacked folder, by their path in it."""
    return dict(sorted(_wheel(place) if place.is_file() else _folder(place)))


def main(arguments: Sequence[str]) -> None:
    """Print the record of a wheel or folder."""
    parser = argparse.ArgumentParser(prog="record_flags", description=__doc__)
    parser.add_argument("package", choices=sorted(RECIPES))
    parser.add_argument("place", type=Path, help="a wheel, or the folder of an unpacked one")
    parser.add_argument("--version", help="the release; needed for a folder")
    given = parser.parse_args(arguments)
    place: Path = given.place
    is_wheel = place.is_file()
    record = recorded(
        given.package,
        given.version or place.name.split("-")[1],
        sources_of(place),
        hashlib.sha256(place.read_bytes()).hexdigest() if is_wheel else "",
        place.name if is_wheel else "",
    )
    sys.stdout.write(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _wheel(place: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(place) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                yield name, archive.read(name).decode("utf-8", errors="replace")


def _folder(place: Path) -> Iterator[tuple[str, str]]:
    for path in place.rglob("*.py"):
        yield path.relative_to(place).as_posix(), path.read_text("utf-8", errors="replace")


def _under(files: Mapping[str, str], places: tuple[str, ...]) -> list[str]:
    return [text for path, text in files.items() if path.startswith(places)]


def _entry(flag: Flag) -> dict[str, Any]:
    entry: dict[str, Any] = {"takes": flag.takes}
    if flag.names[1:]:
        entry["aliases"] = list(flag.names[1:])
    if flag.negative:
        entry["negative"] = flag.negative
    if flag.choices:
        entry["choices"] = list(flag.choices)
    return entry


def _first(flag: Flag) -> str:
    return flag.names[0]


def _found(pattern: re.Pattern[str], texts: Iterable[str]) -> list[str]:
    return sorted({name for text in texts for name in pattern.findall(text)})


if __name__ == "__main__":
    main(sys.argv[1:])

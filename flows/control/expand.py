"""Steps as they were ordered, made into commands for what this machine has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from flows.control.host import Host
from flows.control.step import Step, texts_of

# a loop of the shell: a large host has hundreds of files for one setting
_WRITE: Final = (
    *("sh", "-c", 'v=$1; shift; for f; do printf %s "$v" >"$f" || exit 1; done', "sh"),
)
_NO_FILES: Final = "this kernel has no file for it"


def expanded(order: Iterable[Mapping[str, Any]], host: Host) -> tuple[Step, ...]:
    """Every step with its commands; one per value that is found, where files differ."""
    return tuple(step for told in order for step in _steps(told, host))


def _steps(told: Mapping[str, Any], host: Host) -> Iterator[Step]:
    if "forms" in told:
        yield from _in_files(told, host)
    elif "swap" in told:
        yield from _swap(told, host)
    else:
        yield Step.of(told)


def _in_files(told: Mapping[str, Any], host: Host) -> Iterator[Step]:
    common = {name: told[name] for name in ("name", "target", "wanted")}
    for form in told["forms"]:
        by_value: dict[str, list[str]] = {}
        for path, text in texts_of(host.paths(form["files"]), host).items():
            if text not in form.get("absent", ()):
                by_value.setdefault(text, []).append(path)
        if by_value:
            for value, paths in sorted(by_value.items()):
                yield _file_step(common, form, value, tuple(paths))
            return
    yield Step(**common, refused=_NO_FILES, is_known=False)


def _file_step(
    common: Mapping[str, Any], form: Mapping[str, Any], value: str, paths: tuple[str, ...]
) -> Step:
    words = form.get("words", {})
    written = {word: raw for raw, word in words.items()}
    wanted = common["wanted"]
    chosen = next((word.strip("[]") for word in value.split() if word[0] == "["), value)
    return Step(
        **common,
        set=(*_WRITE, written.get(wanted, wanted), *paths),
        restore=(*_WRITE, chosen, *paths),
        words=words,
        files=paths,
        bracketed=form.get("bracketed", False),
    )


def _swap(told: Mapping[str, Any], host: Host) -> Iterator[Step]:
    common = {name: told[name] for name in ("name", "target", "wanted")}
    table = next(iter(host.paths(told["swap"])), None)
    lines = (host.read(table) or "").splitlines()[1:] if table is not None else []
    if table is None or not lines:
        yield Step(**common, read=("echo", "off"))
    for line in lines:
        place, _, _, used, priority = line.split()
        back = ("-p", priority) if not priority.startswith("-") else ()
        step = Step(
            **{**common, "target": place},
            read=(
                *("sh", "-c", 'grep -q "^$1[[:space:]]" "$2" && echo on || echo off', "sh"),
                *(place, str(table)),
            ),
            set=("swapoff", place),
            restore=("swapon", *back, place),
            refused=f"{int(used) // 1024} MiB of it are in use" if int(used) else "",
        )
        yield step

"""``runoff``: finds the verbs, runs one, maps how it ended to an exit code."""

from __future__ import annotations

import errno
import importlib
import importlib.metadata
import os
import pkgutil
import select
import stat
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Annotated, Any

import typer

from catalog.errors import CatalogError
from flows import commands
from flows.errors import ExitCode, Finished, RunoffError
from reports.errors import DiskError, ReportsError

# typer carries click inside or beside it, by release; its public BadParameter leads to the base
_CommandLineProblem: type[Any] = typer.BadParameter.__mro__[2]
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT, errno.ENOTDIR})
_HELP = "Choose a serving runtime and hardware with evidence: screen on paper, measure, decide."


def verbs() -> dict[str, str]:
    """Verb → module name, by scanning the commands folder; nothing is imported."""
    names = (module.name for module in pkgutil.iter_modules(commands.__path__))
    return {
        name.rstrip("_").replace("_", "-"): name for name in sorted(names) if name[0] != "_"
    }


def verb_module(name: str) -> ModuleType:
    """The module of one verb."""
    return importlib.import_module(f"flows.commands.{name}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb and leave with its exit code, once all output is written."""
    if sys.stdout is None:  # started with it closed (>&-)
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    code = run(list(sys.argv[1:] if arguments is None else arguments))
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _unwritten(error, code)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one verb (the table is in README)."""
    debug, was_pipe = "--debug" in arguments, _is_pipe()
    words = [word for word in arguments if word != "--debug"]
    try:
        result = application(words)(args=words, prog_name="runoff", standalone_mode=False)
    except Finished as ending:
        return int(ending.exit_code)
    except (CatalogError, ReportsError) as error:
        is_of_the_disk = isinstance(error, DiskError)
        return _complain(
            str(error), ExitCode.INFRASTRUCTURE if is_of_the_disk else ExitCode.USAGE
        )
    except RunoffError as error:
        return _complain(str(error), error.exit_code)
    except typer.Exit as ending:
        return ending.exit_code
    except _CommandLineProblem as problem:
        problem.show()
        return ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", ExitCode.INTERRUPTED)
    except SystemExit:  # what typer and rich make of any broken pipe
        return _after_a_broken_pipe(was_pipe=was_pipe)
    except Exception as error:
        if debug:
            raise
        return _unforeseen(error)
    return result if isinstance(result, int) else ExitCode.DECIDED


def application(words: Sequence[str]) -> Callable[..., object]:
    """The typer application; only the verb that was asked for is imported, unless help is."""
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )
    known = verbs()
    asked = next((word for word in words if not word.startswith("-")), None)
    chosen = {asked: known[asked]} if asked in known else known
    for verb, name in chosen.items():
        _register(app, verb, verb_module(name))
    app.callback(help=_HELP, invoke_without_command=True)(_shared)
    return app


def _register(app: typer.Typer, verb: str, module: ModuleType) -> None:
    """Add one verb: a function ``command`` or, with sub-verbs, a typer ``app``."""
    group = getattr(module, "app", None)
    if group is not None:
        app.add_typer(group, name=verb)
        return
    app.command(name=verb)(module.command)


def _shared(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Show runoff's version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a bug, with any command.")
    ] = False,
) -> None:
    """What stands before or beside every verb; without it typer drops a single verb's name."""
    del debug  # taken out before, so that it may stand anywhere: here it is for --help
    if version:
        typer.echo(f"runoff {importlib.metadata.version('runoff')}")
        raise typer.Exit


def _unforeseen(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return _unwritten(error, ExitCode.INFRASTRUCTURE)
    if isinstance(error, OSError) and error.errno in _REFUSED and error.filename is not None:
        return _complain(
            f"{error.filename}: the system refuses it: {error.strerror}. "
            "Give runoff folders that it can write; RUNOFF_HOME says where its home is",
            ExitCode.INFRASTRUCTURE,
        )
    return _complain(
        f"this is a bug in runoff: {type(error).__name__}: {error}. "
        "Run the command again with --debug and report what it prints",
        ExitCode.BUG,
    )


def _is_pipe() -> bool:
    output = sys.__stdout__
    return output is not None and stat.S_ISFIFO(os.fstat(output.fileno()).st_mode)


def _after_a_broken_pipe(*, was_pipe: bool) -> int:
    """A reader of our output that went away is no failure; any other broken pipe is one.

    Rich puts the null device in the place of a pipe that has lost its reader.
    """
    output = select.poll()
    output.register(sys.__stdout__ or sys.stdout, 0)
    is_broken = any(event & select.POLLERR for _, event in output.poll(0))
    if was_pipe and (is_broken or not _is_pipe()):
        return _unwritten(BrokenPipeError(), ExitCode.DECIDED)
    seen = "a process at the other end of a pipe went away"
    return _complain(f"{seen}. Run the command again", ExitCode.INFRASTRUCTURE)


def _unwritten(error: OSError, code: int) -> int:
    """What an output that cannot be written means; a reader that went away is no failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return code
    seen = error.strerror or type(error).__name__
    place = error.filename or "standard output"
    return _complain(f"{place}: {seen}. Make room, or write elsewhere", ExitCode.INFRASTRUCTURE)


def _complain(message: str, code: ExitCode) -> int:
    sys.stderr.write(f"runoff: {message}\n")
    return int(code)


if __name__ == "__main__":
    main()

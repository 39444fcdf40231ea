"""``runoff``: finds the verbs, runs one, maps how it ended to an exit code."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import typer

from catalog.errors import CatalogError
from flows import commands
from flows.errors import ExitCode, Finished, RunoffError
from reports.errors import ReportsError

# typer carries click inside or beside it, by release; its public BadParameter leads to the base
_CommandLineProblem: type[Any] = typer.BadParameter.__mro__[2]
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
    """Run one verb and leave with its exit code."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """The exit code of one verb (the table is in README)."""
    debug = "--debug" in arguments
    words = [word for word in arguments if word != "--debug"]
    try:
        result = application(words)(args=words, prog_name="runoff", standalone_mode=False)
    except Finished as ending:
        return int(ending.exit_code)
    except (CatalogError, ReportsError) as error:
        return _complain(str(error), ExitCode.USAGE)
    except RunoffError as error:
        return _complain(str(error), error.exit_code)
    except typer.Exit as ending:
        return ending.exit_code
    except _CommandLineProblem as problem:
        problem.show()
        return ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DECIDED
    except Exception as error:
        if debug:
            raise
        return _complain(
            f"this is a bug in runoff: {type(error).__name__}: {error}. "
            "Run the command again with --debug and report what it prints",
            ExitCode.BUG,
        )
    return result if isinstance(result, int) else ExitCode.DECIDED


def application(words: Sequence[str]) -> Callable[..., object]:
    """The typer application; only the verb that was asked for is imported, unless help is."""
    app = typer.Typer(
        help=_HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )
    known = verbs()
    asked = next((word for word in words if not word.startswith("-")), None)
    chosen = {asked: known[asked]} if asked in known else known
    for verb, name in chosen.items():
        _register(app, verb, verb_module(name))
    app.callback()(_keep_verbs)
    return app


def _register(app: typer.Typer, verb: str, module: ModuleType) -> None:
    """Add one verb: a function ``command`` or, with sub-verbs, a typer ``app``."""
    group = getattr(module, "app", None)
    if group is not None:
        app.add_typer(group, name=verb)
        return
    app.command(name=verb)(module.command)


def _keep_verbs() -> None:
    """Without a callback typer drops the verb's name when there is only one."""


def _complain(message: str, code: ExitCode) -> int:
    sys.stderr.write(f"runoff: {message}\n")
    return int(code)


if __name__ == "__main__":
    main()

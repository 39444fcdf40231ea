"""How a host is entered, by the user's OpenSSH configuration."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import paramiko

from flows.errors import UsageError
from flows.remote.config_text import config_text
from flows.remote.login import Login, resolved

CONFIG_VARIABLE: Final = "RUNOFF_SSH_CONFIG"


def login_of(name: str, environment: Mapping[str, str]) -> Login:
    """How a host is entered: an alias of the OpenSSH configuration, or ``user@host:port``.

    The configuration is ``~/.ssh/config``, or the file that RUNOFF_SSH_CONFIG names.

    Raises
    ------
    UsageError
        For a file that cannot be read, and for what it asks that we cannot do.
    """
    home = _home(environment)
    user = environment.get("USER") or getpass.getuser()
    with _configuration_told(environment):
        return resolved(name, _config(environment).lookup, home=home, user=user)


def aliases(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts that the OpenSSH configuration names without a wildcard."""
    with _configuration_told(environment):
        names = _config(environment).get_hostnames()
    return tuple(sorted(name for name in names if not set(name) & set("*?!")))


@contextmanager
def _configuration_told(environment: Mapping[str, str]) -> Iterator[None]:
    """Whatever the configuration has that is no configuration, as the user's error."""
    try:
        yield
    except (paramiko.ssh_exception.SSHException, ValueError, KeyError, ImportError) as error:
        raise UsageError(
            str(_config_path(environment)),
            f"it cannot be understood: {error}",
            f"Correct it, or name another: {CONFIG_VARIABLE}",
        ) from None


def _config_path(environment: Mapping[str, str]) -> Path:
    named = environment.get(CONFIG_VARIABLE)
    return Path(named) if named else _home(environment) / ".ssh" / "config"


def _config(environment: Mapping[str, str]) -> paramiko.SSHConfig:
    home, named = _home(environment), environment.get(CONFIG_VARIABLE)
    path = _config_path(environment)
    text = config_text(path, home) if named or path.exists() else ""
    return paramiko.SSHConfig.from_text(text)


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())

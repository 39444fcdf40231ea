"""The first boot of a rented machine: its own host key, and the switch that ends it.

The switch needs nobody: a timer of the machine's own looks every minute whether its time is
over, and powers it off; the cloud then terminates it. It covers a lost laptop, a dead network
and a campaign that was killed, also one that dies before it has entered the machine: until the
first heartbeat the machine lives for ``FIRST_S`` from its boot.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, Final

from deploy_templates.words import document

HEARTBEAT: Final = "/usr/local/sbin/runoff-heartbeat"
FIRST_S: Final = 1800  # to be seen running, answer over SSH and take what it needs; with room
_TEMPLATE: Final = "first-boot.yaml.j2"
_SCRIPTS: Final = "/usr/local/sbin"
_UNITS: Final = "/etc/systemd/system"
_STATE: Final = "/var/lib/runoff"
_HOSTS: Final = Path(__file__).parent / "hosts"
_NEAR: Final = "localhost,127.0.0.1,::1,169.254.169.254"
_SERVICE: Final = f"""\
[Unit]
Description=Power off once the time of this rented machine is over

[Service]
Type=oneshot
ExecStart={_SCRIPTS}/runoff-dead-man
"""
_TIMER: Final = """\
[Unit]
Description=Look every minute whether the time of this rented machine is over

[Timer]
OnActiveSec=1min
OnUnitActiveSec=1min
AccuracySec=5s

[Install]
WantedBy=timers.target
"""


def first_boot(
    *, expires: dt.datetime, host_key: str, host_key_public: str, proxy: str | None = None
) -> str:
    """cloud-init's user data; the same text for the same machine.

    The host key is the one secret in it: it proves the machine to its caller and opens
    nothing. No token is: user data can be read by all that runs on the machine.
    """
    files = [
        _file(f"{_SCRIPTS}/runoff-dead-man", "0755", _script("dead-man.sh")),
        _file(HEARTBEAT, "0755", _script("heartbeat.sh")),
        _file(f"{_STATE}/expires", "0644", f"{int(expires.timestamp())}\n"),
        _file(f"{_UNITS}/runoff-dead-man.service", "0644", _SERVICE),
        _file(f"{_UNITS}/runoff-dead-man.timer", "0644", _TIMER),
    ]
    if proxy is not None:
        files.append(_file("/etc/environment", "0644", _proxy_lines(proxy), append=True))
    return document(
        {_TEMPLATE: (_HOSTS / _TEMPLATE).read_text(encoding="utf-8")},
        _TEMPLATE,
        {
            "host_key": host_key,
            "host_key_public": host_key_public,
            "files": files,
            "heartbeat": HEARTBEAT,
            "first_s": str(FIRST_S),
            "proxy": proxy,
        },
    )


def _file(path: str, permissions: str, text: str, *, append: bool = False) -> dict[str, Any]:
    return {"path": path, "permissions": permissions, "text": text, "append": append}


def _script(name: str) -> str:
    return (_HOSTS / name).read_text(encoding="utf-8")


def _proxy_lines(proxy: str) -> str:
    names = ("http_proxy", "https_proxy")
    lines = [f"{name}={proxy}" for each in names for name in (each, each.upper())]
    lines += [f"no_proxy={_NEAR}", f"NO_PROXY={_NEAR}"]
    return "\n" + "\n".join(lines) + "\n"

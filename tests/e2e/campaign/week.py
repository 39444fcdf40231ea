"""A week of a campaign that is held up: decided, re-evaluated, told, and what became of it.

It is lived once, with a Prefect server that has its automations, and a receiver of webhooks.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from flows.prefect_server import PrefectServer, Shown
from tests.e2e.campaign.conftest import CONTRACT, Folder, engine

LIMIT_S = 240.0  # patience with a busy machine; nothing waits for its end
TEAM, CHAT = "webhook/team", "custom-webhook/chat"
# limits so wide that a busy machine, which makes its client late, does not void the cells
PATIENT = {**CONTRACT, "slo": {"ttft": "60 s", "itl": "20 s", "goodput": "50%"}}


class Receiver:
    """A web server on loopback that keeps what is posted to it; ``/broken`` refuses."""

    def __init__(self) -> None:
        posted: list[tuple[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                posted.append((self.path, json.loads(body)))
                self.send_response(500 if self.path == "/broken" else 204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """It says nothing."""

        self.posted = posted
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def to(self, path: str) -> list[Any]:
        return [body for place, body in self.posted if place == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass
class Week:
    """The folder, and each command's exit code, standard output and standard error."""

    folder: Folder
    receiver: Receiver
    api_url: str
    ended: dict[str, tuple[int, str, str]]

    @property
    def runs(self) -> list[Path]:
        return sorted((self.folder.path / "runs" / "small").glob("2*-*"))


def until(look: Callable[[], Any], what: str) -> Any:
    """What ``look`` finds, once it finds something."""
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def runoff(folder: Folder, *words: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flows.cli", "--debug", *map(str, words)],
        cwd=folder.path,
        env=dict(folder.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    return done.returncode, done.stdout, done.stderr


def with_prefect(environment: Mapping[str, str], words: str) -> str:
    """What a few words of Python print that use Prefect's client, in a process of their own."""
    return subprocess.run(
        [sys.executable, "-P", "-c", words],
        env=dict(environment),
        check=True,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


@contextmanager
def lived(path: Path, home: Path) -> Iterator[Week]:
    """The week with its server and its receiver, in folders of its own."""
    (path / "locks").mkdir()
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    receiver = Receiver()
    server = PrefectServer(home / "prefect", plain, Shown(port=free_port()))
    try:
        url = server.wait(limit_s=LIMIT_S)
        environment = {
            **plain,
            "RUNOFF_HOME": str(home),
            "RUNOFF_LOCKS": str(path / "locks"),
            "RUNOFF_LOOPBACK_ONLY": "1",
            "PREFECT_API_URL": url,
            "PREFECT_HOME": str(home / "client"),
            "PREFECT_LOGGING_LEVEL": "CRITICAL",
            "DO_NOT_TRACK": "1",
            "NO_COLOR": "1",
        }
        folder = Folder(path, environment)
        yield Week(folder, receiver, url, dict(_lived(folder, receiver, url)))
    finally:
        server.stop()
        receiver.close()


def _lived(
    folder: Folder, receiver: Receiver, url: str
) -> Iterator[tuple[str, tuple[int, str, str]]]:
    file = folder.campaign([engine("a")], matrix={"replications": 3}, contract=PATIENT)
    with_prefect(
        folder.environment,
        "from prefect.blocks.webhook import Webhook\n"
        "from prefect.blocks.notifications import CustomWebhookNotificationBlock as Chat\n"
        f"Webhook(url='{receiver.url}/team').save('team')\n"
        f"Webhook(url='{receiver.url}/broken').save('broken')\n"
        f"Chat(name='chat', url='{receiver.url}/chat', json_data="
        "{'title': '{{subject}}', 'text': '{{body}}'}).save('chat')\n",
    )
    yield "compare", runoff(folder, "compare", file)
    run = min((folder.path / "runs" / "small").glob("2*-*"))
    again = ("reevaluate", file, "--baseline", run.name)
    yield "again", runoff(folder, *again, "--notify", TEAM, "--json")
    yield "prices", runoff(folder, *again, "--prices-only", "--notify", CHAT)
    nobody = ("--baseline", run, "--notify", "webhook/nobody")
    yield "mistyped", runoff(folder, "deploy", file, *nobody)
    yield (
        "deploy",
        runoff(
            folder, "deploy", file, "--baseline", run, "--prices-only", "--tell-failures", TEAM
        ),
    )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def later(week: Week, deployment: str) -> list[str]:
    """What is said of blocks that refuse or lack; then a run fails, without a worker."""
    said = with_prefect(
        week.folder.environment,
        "import asyncio, os\n"
        "from prefect.client.orchestration import get_client\n"
        "from prefect.states import Failed, Running\n"
        "from flows.automations import tell_of_failures\n"
        "from flows.errors import UsageError\n"
        "from flows.notifications import Message, tell\n"
        "message = Message(subject='s', sentence='S.', reasons=(), exit_code=6, stamp='x',\n"
        "                  place='p')\n"
        "print(tell('webhook/broken', message))\n"
        "print(tell('webhook/nobody', message))\n"
        "url = os.environ['PREFECT_API_URL']\n"
        "try:\n"
        "    tell_of_failures(url, 'webhook/nobody', [])\n"
        "except UsageError as error:\n"
        "    print(error)\n"
        f"tell_of_failures(url, '{TEAM}', ['{deployment}'])\n"
        "async def one():\n"
        "    async with get_client() as client:\n"
        f"        found = await client.read_deployment_by_name('{deployment}')\n"
        "        run = await client.create_flow_run_from_deployment(found.id)\n"
        "        await client.set_flow_run_state(run.id, Running(), force=True)\n"
        "        failed = Failed(message='exit code 6: \"Regression\": b is slower')\n"
        "        await client.set_flow_run_state(run.id, failed, force=True)\n"
        "asyncio.run(one())\n",
    )
    return said.splitlines()

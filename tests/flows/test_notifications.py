"""Who is told by a block is said truly, and nothing of the block's secrets with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from prefect.blocks.core import Block
from prefect.blocks.notifications import (
    AppriseNotificationBlock,
    CustomWebhookNotificationBlock,
)
from prefect.blocks.webhook import Webhook

from flows.errors import UsageError
from flows.notifications import Message, check_block, tell

SECRET = "xoxb-hush"
MESSAGE = Message(subject="s", sentence="S.", reasons=(), exit_code=6, stamp="x", place="p")


class Chat(AppriseNotificationBlock):
    """As Slack's and Teams' blocks are: Apprise behind an address."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A web server on loopback that refuses whatever is posted to it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """It says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}/{SECRET}"
    server.shutdown()
    server.server_close()


def custom(address: str) -> Block:
    return CustomWebhookNotificationBlock(
        name="c", url=f"http://{address}", json_data={"a": "b"}
    )


def apprise(address: str) -> Block:
    return Chat(url=f"json://{address}")


def webhook(address: str) -> Block:
    return Webhook(url=f"http://{address}")


def shut_webhook(address: str) -> Block:
    return Webhook(url=f"http://{address}", allow_private_urls=False)


def wrong_header(address: str) -> Block:
    return Webhook(url=f"http://{address}", headers={"authorization": f"{SECRET}\n"})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what Apprise imports
@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (custom, "HTTPStatusError (404)"),
        (apprise, "NotificationError"),
        (webhook, "it answered 404"),
        (shut_webhook, "ValueError"),
        (wrong_header, "LocalProtocolError"),
    ],
)
def test_a_message_that_is_refused_is_said_and_no_secret_with_it(
    make: Any, seen: str, address: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    block = make(address)

    async def load(*_: object) -> Block:
        return block

    monkeypatch.setattr(Block, "aload", load)

    assert tell("some/block", MESSAGE) == f"nobody was told by some/block: {seen}"
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err


@pytest.mark.parametrize("name", ["team", "/team", "webhook/", ""])
def test_what_is_no_blocks_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no block's name"):
        check_block(name, {"PREFECT_API_URL": "http://127.0.0.1:9/api"})

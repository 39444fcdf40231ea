"""A program that runs a machine's life in children of its own, each of which may be killed.

It reads a line of JSON (site and order) per life, starts a child, prints its process id, waits
for its end and prints how it ended. Python and AWS's library are loaded once.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from pathlib import Path
from typing import Any

from flows.clouds import aws
from flows.clouds.protocol import Order, Site
from tests.flows.amazon.campaigns import campaign_with


def live(told: dict[str, Any], go: int) -> None:
    os.read(go, 1)
    now = dt.datetime.fromisoformat(told["now"])
    site = Site(
        environment=told["environment"],
        state=Path(told["state"]),
        now=lambda: now,
        campaign=campaign_with(),
    )
    driver = aws.connect(site)
    ledger = Path(told["ledger"])
    ledger.parent.mkdir(parents=True, exist_ok=True)

    def record(event: str, **facts: Any) -> None:
        with ledger.open("a") as file:
            file.write(json.dumps({"event": event, **facts}) + "\n")

    order = Order(
        host=None,
        offer="aws/g6.xlarge",
        campaign="a",
        run="r1",
        expires=now + dt.timedelta(hours=2),
    )
    driver.release(driver.ready(driver.acquire(order, record), record), record)


def said(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        start, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(go)
            live(json.loads(line), start)
            os._exit(0)
        os.close(start)
        said(pid)
        sys.stdin.readline()  # the proxy knows whom to kill
        os.write(go, b"g")
        os.close(go)
        said(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()

"""AWS as the tests meet it: moto's server over HTTP, behind a proxy that knows what moto lacks.

moto grants every launch anew (it reads no ClientToken), never runs out of capacity, has no
price list and no quotas. The proxy adds these, refuses on order, kills on order, and keeps
every byte that was sent.
"""

from __future__ import annotations

import datetime as dt
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parent / "images.json"  # moto's own are a thousand, of 2017
UBUNTU, ARM, NOBODYS = "ami-0a00000000000d111", "ami-0a00000000000a641", "ami-0a0000000000a11e1"
_ENDING = ("TerminateInstances", "DeleteKeyPair", "DeleteSecurityGroup", "DeleteVolume")
MAKING = (
    "CreateSecurityGroup",
    "AuthorizeSecurityGroupIngress",
    "ImportKeyPair",
    "RunInstances",
)
ACTING = (*MAKING, *_ENDING[:3])


@dataclass
class Fault:
    """Refuse an action with a code, so many times, where ``only`` holds of its parameters."""

    action: str
    code: str
    message: str = "as the test wishes"
    times: int = 10**6
    only: Callable[[dict[str, str]], bool] = lambda parameters: True
    after: bool = False  # the request is granted, its answer is lost


@dataclass
class Kill:
    """End a process just before an action reaches AWS, or just after it was granted."""

    action: str
    when: str
    pid: int


@dataclass
class Seen:
    action: str
    region: str
    parameters: dict[str, str]
    raw: bytes


def price_list(usd: str, *more: str) -> dict[str, Any]:
    """An answer of the price list as AWS gives it: entries are JSON in strings."""

    def entry(price: str) -> str:
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": price}}
        return json.dumps(
            {"terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}}}
        )

    return {"FormatVersion": "aws_v1", "PriceList": [entry(each) for each in (usd, *more)]}


@dataclass
class World:
    """What the proxy refuses, answers and has seen."""

    faults: list[Fault] = field(default_factory=list)
    kill: Kill | None = None
    latency_s: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, tuple[str, bytes, str]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    rewrite: Callable[[str, bytes], bytes] = lambda action, body: body
    without: tuple[str, ...] = ()  # parameters that moto is not told of

    def actions(self) -> list[str]:
        return [each.action for each in self.seen]

    def parameters(self, action: str) -> list[dict[str, str]]:
        return [each.parameters for each in self.seen if each.action == action]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait for each other
    server: Proxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = self.server.answered(dict(self.headers.items()), self.path, body)
        if found is None:  # whoever asked is dead, or its answer is lost
            self.close_connection = True
            return
        status, kind, answer = found
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words: object) -> None:
        pass


class Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.world = World()
        self.lock = threading.RLock()

    def handle_error(self, request: Any, address: Any) -> None:
        pass  # a killed client's connection

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reset(self) -> World:
        self.world = World()
        self.world.answers.update(default_answers())
        urllib.request.urlopen(
            f"http://127.0.0.1:{self.upstream}/moto-api/reset", data=b"", timeout=10
        ).close()
        return self.world

    def answered(
        self, headers: dict[str, str], path: str, body: bytes
    ) -> tuple[int, str, bytes] | None:
        world = self.world
        target = headers.get("X-Amz-Target", "")
        parameters = {
            name: values[0] for name, values in urllib.parse.parse_qs(body.decode()).items()
        }
        action = target.partition(".")[2] or parameters.get("Action", "")
        scope = re.search(r"Credential=[^/]+/\d+/([^/]+)/", headers.get("Authorization", ""))
        with self.lock:
            raw = json.dumps(headers).encode() + body
            world.seen.append(Seen(action, scope[1] if scope else "", parameters, raw))
            fault = _fault(world, action, parameters)
        time.sleep(world.latency_s)
        if fault is not None and not fault.after:
            return _refusal(fault.code, fault.message, is_json=bool(target))
        if _kills(world, action, "before"):
            return None
        if action in world.answers:
            found = world.answers[action]
            if isinstance(found, tuple):
                return _refusal(*found, is_json=bool(target))
            return 200, "application/x-amz-json-1.1", json.dumps(found).encode()
        with self.lock:
            answer = self._granted(action, headers, path, body, parameters)
        if _kills(world, action, "after") or (fault is not None and fault.after):
            return None
        return answer

    def _granted(
        self,
        action: str,
        headers: dict[str, str],
        path: str,
        body: bytes,
        parameters: dict[str, str],
    ) -> tuple[int, str, bytes]:
        world = self.world
        token = parameters.get("ClientToken")
        if action == "RunInstances" and token and "DryRun" not in parameters:
            asked = json.dumps(parameters, sort_keys=True)
            if token in world.tokens:
                before, answer, instance = world.tokens[token]
                if before != asked:
                    return _refusal(
                        "IdempotentParameterMismatch", "other parameters", is_json=False
                    )
                if instance in world.ended:
                    answer = re.sub(rb"<name>\w+</name>", b"<name>terminated</name>", answer)
                return 200, "text/xml", answer
        if action == "TerminateInstances":
            world.ended.update(v for k, v in parameters.items() if k.startswith("InstanceId"))
        body = self._by_token(body, parameters)
        status, kind, answer = self._forwarded(headers, path, body)
        if action == "RunInstances" and token and status == 200:
            instance = re.search(rb"<instanceId>([^<]+)", answer)[1].decode()
            world.tokens[token] = (json.dumps(parameters, sort_keys=True), answer, instance)
        return status, kind, world.rewrite(action, answer)

    def _by_token(self, body: bytes, parameters: dict[str, str]) -> bytes:
        """moto knows no filter by client token: ask for the instance that it got instead."""
        changed = {k: v for k, v in parameters.items() if k not in self.world.without}
        for name, value in parameters.items():
            if value == "client-token" and name.startswith("Filter"):
                token = parameters[name.replace("Name", "Value.1")]
                changed[name] = "instance-id"
                known = self.world.tokens.get(token)
                changed[name.replace("Name", "Value.1")] = known[2] if known else "i-none"
        return body if changed == parameters else urllib.parse.urlencode(changed).encode()

    def _forwarded(
        self, headers: dict[str, str], path: str, body: bytes
    ) -> tuple[int, str, bytes]:
        sent = {**headers, "Content-Length": str(len(body)), "Connection": "close"}
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=30)
        try:
            connection.request("POST", path, body=body, headers=sent)
            answer = connection.getresponse()
            kind = answer.getheader("Content-Type") or "text/xml"
            return answer.status, kind, answer.read()
        finally:
            connection.close()


def default_answers() -> dict[str, Any]:
    return {
        "GetProducts": price_list("4.6000000000", "0.0000000000"),
        "GetServiceQuota": {
            "Quota": {"QuotaName": "Running On-Demand G and VT instances", "Value": 8.0}
        },
        "GetParameter": {"Parameter": {"Name": "p", "Type": "String", "Value": UBUNTU}},
    }


def spot_history(zone: str, usd: str, when: dt.datetime) -> Callable[[str, bytes], bytes]:
    """Replaces moto's spot price of the year 2006."""
    item = (
        f"<item><instanceType>g6.xlarge</instanceType><availabilityZone>{zone}"
        f"</availabilityZone><productDescription>Linux/UNIX</productDescription>"
        f"<spotPrice>{usd}</spotPrice><timestamp>{when:%Y-%m-%dT%H:%M:%SZ}</timestamp></item>"
    )
    body = (
        "<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>"
        f"{item}</spotPriceHistorySet></DescribeSpotPriceHistoryResponse>"
    ).encode()
    return lambda action, answer: body if action == "DescribeSpotPriceHistory" else answer


def _fault(world: World, action: str, parameters: dict[str, str]) -> Fault | None:
    for fault in world.faults:
        if fault.action in {action, "*"} and fault.times > 0 and fault.only(parameters):
            fault.times -= 1
            return fault
    return None


def _kills(world: World, action: str, when: str) -> bool:
    kill = world.kill
    if kill is None or (kill.action, kill.when) != (action, when):
        return False
    os.kill(kill.pid, signal.SIGKILL)
    world.kill = None
    return True


def _refusal(code: str, message: str, *, is_json: bool) -> tuple[int, str, bytes]:
    status = 503 if code in {"RequestLimitExceeded", "Unavailable"} else 400
    if is_json:
        told = json.dumps({"__type": code, "message": message})
        return status, "application/x-amz-json-1.1", told.encode()
    return (
        status,
        "text/xml",
        f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error>"
        "</Errors><RequestID>r</RequestID></Response>".encode(),
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@contextmanager
def running_aws() -> Iterator[Proxy]:
    """moto's server as a process of its own, and the proxy in front of it."""
    port = _free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "moto.server",
            "-H",
            "127.0.0.1",
            "-p",
            str(port),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MOTO_AMIS_PATH": str(IMAGES)},
    )
    proxy = Proxy(port)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
    try:
        _await(port, server)
        thread.start()
        yield proxy
    finally:
        if thread.is_alive():
            proxy.shutdown()
            thread.join()
        proxy.server_close()
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _await(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("moto's server did not come up")

"""CPU and precision of the rehearsal engine: `python benchmarks/bench_rehearsal.py`."""

import argparse
import asyncio
import json
import os
import statistics
from itertools import pairwise
from pathlib import Path

import uvloop

from flows.rehearsal import Settings, start

OUTPUT_TOKENS = 128
STEP_MS = 10.0


def settings(streams: int, scheduler: str) -> Settings:
    return Settings.from_json(
        {
            "engine": {
                "scheduler": scheduler,
                "max_num_seqs": streams,
                "token_budget": 2_000_000,
                "kv_blocks": 200_000,
            },
            "steps": {
                "decode_base_ms": STEP_MS,
                "decode_per_sequence_ms": 0,
                "prefill_base_ms": STEP_MS,
                "prefill_per_token_ms": 0,
            },
        }
    )


class Reader(asyncio.Protocol):
    """Sends one request and drops what comes back until it has ended."""

    def __init__(self, request: bytes, ended: asyncio.Future[None]) -> None:
        self.request = request
        self.ended = ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        transport.write(self.request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"0\r\n\r\n"):
            self.transport.close()
            self.ended.set_result(None)


async def load(port: int, streams: int) -> None:
    loop = asyncio.get_running_loop()
    body = json.dumps(
        {
            "prompt": list(range(1024)),
            "max_tokens": OUTPUT_TOKENS,
            "stream": True,
            "ignore_eos": True,
        }
    )
    head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    ends = []
    for _ in range(streams):
        ends.append(loop.create_future())
        reader = Reader((head + body).encode(), ends[-1])
        await loop.create_connection(lambda reader=reader: reader, "127.0.0.1", port)
    await asyncio.gather(*ends)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(streams: int, scheduler: str) -> None:
    with start(settings(streams, scheduler)) as server:
        before = cpu_s(server.process.pid)
        uvloop.run(load(server.port, streams))
        spent = cpu_s(server.process.pid) - before
        truth = server.truth()
    chunks = sum(len(request.write_ns) for request in truth.requests)
    gaps = [
        (b - a) / 1e6
        for request in truth.requests
        for a, b in pairwise(request.token_times_ns[OUTPUT_TOKENS // 2 :])
    ]
    low, *_, high = statistics.quantiles(gaps, n=100)
    print(
        f"{streams:5d} streams, {scheduler:11s}: {spent / chunks * 1e6:5.1f} µs CPU per chunk, "
        f"gap p1 {low:6.2f}, median {statistics.median(gaps):6.2f}, p99 {high:6.2f} ms "
        f"(asked {STEP_MS:.0f}), {truth.overruns} overruns"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 16, 256, 512])
    for streams in parser.parse_args().streams:
        for scheduler in ("chunked", "independent"):
            measure(streams, scheduler)


if __name__ == "__main__":
    main()

"""Time to parse 400,000 recorded chunks on one core: `python benchmarks/bench_parse.py`."""

import argparse
import time
from array import array

from flows.load.parse import parse_run
from flows.load.raw import RawRequest, RawRun

CHUNKS = 128
STEP_NS = 10_000_000


def completion_chunk(number: int, *, with_usage: bool) -> bytes:
    usage = (
        f'{{"prompt_tokens":1024,"total_tokens":{1024 + number},"completion_tokens":{number}}}'
        if with_usage
        else "null"
    )
    return (
        'data: {"id":"cmpl-1234567890abcdef1234567890abcdef","object":"text_completion",'
        '"created":1720000000,"model":"meta-llama/Meta-Llama-3-8B-Instruct","choices":'
        f'[{{"index":0,"text":" token{number}","logprobs":null,"finish_reason":null,'
        f'"stop_reason":null}}],"usage":{usage}}}\n\n'
    ).encode()


def chat_chunk(number: int, *, with_usage: bool) -> bytes:
    return (
        completion_chunk(number, with_usage=with_usage)
        .replace(b'"text":', b'"delta":{"content":')
        .replace(b',"logprobs"', b'},"logprobs"')
    )


def whole(chunks: list[bytes]) -> list[bytes]:
    return [*chunks, b"data: [DONE]\n\n"]


def resplit(chunks: list[bytes], piece_bytes: int = 333) -> list[bytes]:
    body = b"".join(whole(chunks))
    return [body[at : at + piece_bytes] for at in range(0, len(body), piece_bytes)]


def request(sequence: int, fragments: list[bytes]) -> RawRequest:
    start_ns = sequence * STEP_NS
    return RawRequest(
        sequence=sequence,
        phase="measured",
        session=sequence,
        turn=0,
        endpoint=0,
        prompt_id=sequence,
        prompt_tokens=1024,
        output_tokens=CHUNKS,
        connection=0,
        reused=True,
        reconnected=False,
        scheduled_ns=start_ns,
        slot_free_ns=None,
        sent_ns=start_ns + 1000,
        first_byte_ns=start_ns + STEP_NS,
        done_ns=start_ns + STEP_NS * (CHUNKS + 2),
        status=200,
        outcome="complete",
        error="",
        content_type="text/event-stream",
        fragments=fragments,
        stamps_ns=array("q", range(start_ns, start_ns + STEP_NS * len(fragments), STEP_NS)),
    )


def run_of(dialect: str, fragments: list[bytes], requests: int) -> RawRun:
    return RawRun(
        header={"dialect": dialect},
        anchor_monotonic_ns=0,
        anchor_unix_ns=0,
        zero_ns=0,
        started_ns=0,
        ended_ns=0,
        complete=True,
        warmup_converged=None,
        warmup_requests=0,
        window=None,
        client={},
        connections=(),
        # Each request has bytes of its own, as after reading a raw file.
        requests=tuple(
            request(sequence, [bytes(bytearray(piece)) for piece in fragments])
            for sequence in range(requests)
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=400_000)
    requests = parser.parse_args().chunks // CHUNKS
    shapes = {
        "completions": ("completions", completion_chunk, False, whole),
        "completions, usage in each": ("completions", completion_chunk, True, whole),
        "chat": ("chat", chat_chunk, False, whole),
        "chat, usage in each": ("chat", chat_chunk, True, whole),
        "completions, cut anywhere": ("completions", completion_chunk, False, resplit),
    }
    for name, (dialect, chunk, with_usage, cut) in shapes.items():
        chunks = [chunk(number + 1, with_usage=with_usage) for number in range(CHUNKS)]
        run = run_of(dialect, cut(chunks), requests)
        start, start_cpu = time.perf_counter(), time.process_time()
        columns = parse_run(run)
        seconds, cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
        parsed = len(columns.chunk_tokens)
        print(
            f"{name:28} {parsed:>9,} chunks of {len(chunks[-1])} bytes in {seconds:.3f} s"
            f" ({cpu_s:.3f} s of CPU)"
        )


if __name__ == "__main__":
    main()

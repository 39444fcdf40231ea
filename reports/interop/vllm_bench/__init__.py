"""``vllm bench serve --save-result --save-detailed``: its JSON, in and out.

What is different there and how it is converted:

- Times in arrays are seconds, in summaries milliseconds. Arrays that do not fit the file's own
  mean are refused.
- A request's latency counts from when it was sent. ``queue_times`` is how long it waited for a
  place under ``max_concurrency`` before; with it a request is due when it came, as here. A
  file without it has service latencies only, and TTFT from when a request was due is unknown.
- Arrays hold failed requests too (no output, a text in ``errors``); they count as failed here.
- TPOT there divides by all tokens but one, and is 0 for answers of one token where goodput is
  counted; here it is made again from the gaps, and undefined for one token.
- ``request_rate`` "inf" sends everything at once: with ``max_concurrency`` it is a closed loop
  of so many streams, without it one of as many streams as there are requests. The first wave
  of a closed loop is not timed, unless there is no other.
- The gaps of an open loop were rescaled so that they add up to n / rate.
"""

from reports.interop.vllm_bench.keys import write
from reports.interop.vllm_bench.result import read

__all__ = ["read", "write"]

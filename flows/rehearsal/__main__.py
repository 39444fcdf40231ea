"""`python -P -m flows.rehearsal`: the rehearsal server as a process of its own."""

from __future__ import annotations

import argparse
import sys

from flows.rehearsal.checked import SettingsError
from flows.rehearsal.collect import collected
from flows.rehearsal.process import serve
from flows.rehearsal.settings import Settings

USAGE_EXIT_CODE = 2


def main(arguments: list[str]) -> int:
    """Run a server until it is told to stop; returns the exit code."""
    parser = argparse.ArgumentParser(prog="flows.rehearsal", description=__doc__)
    parser.add_argument("--port", type=int, help="0 (default) takes a free one")
    parser.add_argument("--like", help="vllm, sglang, tensorrt_llm or llama_server")
    parser.add_argument("--settings", help="JSON file with any settings, - for stdin")
    parser.add_argument("--truth", help="file for what really happened, written at the end")
    parser.add_argument("--set", action="append", default=[], metavar="KEY.KEY=JSON")
    parser.add_argument("--lease", type=int, help="descriptor of a pipe; its end ends this")
    given = parser.parse_args(arguments)
    try:
        data = collected(given.like, given.settings, given.set)
        for key in ("port", "truth"):
            if getattr(given, key) is not None:
                data[key] = getattr(given, key)
        return serve(Settings.from_json(data), given.lease)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return USAGE_EXIT_CODE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

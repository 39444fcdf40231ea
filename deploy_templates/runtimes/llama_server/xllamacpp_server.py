# ruff: noqa: INP001 - a script of its own, copied beside the plan and run there
"""llama.cpp's own HTTP server, as the package xllamacpp carries it, in a process of its own.

Takes the flags of llama-server that the package can set, by the same names, and refuses all
others the way llama-server does. Stops on SIGTERM; a second one ends it at once.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

import xllamacpp  # type: ignore[import-untyped]  # in the environment of the server and of tests

INVALID_EXIT_CODE = 1
FORCED_EXIT_CODE = 1
TYPES = {"f16": "F16", "bf16": "BF16", "f32": "F32", "q8_0": "Q8_0", "q4_0": "Q4_0"}
ATTENTION = {"auto": "AUTO", "on": "ENABLED", "off": "DISABLED"}
ALL_LAYERS = 9999
MAGIC = b"GGUF"
LAST_WORDS_S = 0.3


class Parser(argparse.ArgumentParser):
    """A parser that complains in llama-server's words."""

    def error(self, message: str) -> NoReturn:
        """End as llama-server does for what it does not know."""
        sys.stderr.write(f"error: invalid argument: {message}\n")
        sys.exit(INVALID_EXIT_CODE)


def parser() -> Parser:
    """The flags of llama-server that the package can set."""
    flags = Parser(description=__doc__, allow_abbrev=False)
    flags.add_argument("--model", required=True)
    flags.add_argument("--alias")
    flags.add_argument("--host", default="127.0.0.1")
    for name in ("--port", "--ctx-size", "--parallel", "--batch-size", "--ubatch-size"):
        flags.add_argument(name, type=int)
    for name in ("--threads", "--threads-batch", "--seed", "--cache-ram", "--threads-http"):
        flags.add_argument(name, type=int)
    for name in ("--cache-type-k", "--cache-type-v"):
        flags.add_argument(name, choices=sorted(TYPES))
    flags.add_argument("--flash-attn", choices=sorted(ATTENTION))
    flags.add_argument("--fit", choices=("on", "off"))
    flags.add_argument("--gpu-layers")
    flags.add_argument("--split-mode", choices=("none", "layer", "row"))
    flags.add_argument("--model-draft")
    flags.add_argument("--spec-type", choices=("none", "draft-simple"))
    flags.add_argument("--spec-draft-n-max", type=int)
    for name in ("--metrics", "--ui", "--cache-prompt", "--kv-unified", "--warmup"):
        flags.add_argument(name, action=argparse.BooleanOptionalAction)
    return flags


def parameters(given: argparse.Namespace) -> Any:
    """The package's parameters; what was not given keeps llama.cpp's default."""
    made = xllamacpp.CommonParams()
    made.model.path = given.model
    made.hostnames = [given.host]
    for flag, key in PLAIN.items():
        value = getattr(given, flag)
        if value is not None:
            setattr(made, key, value)
    for flag, put in SPECIAL.items():
        value = getattr(given, flag)
        if value is not None:
            put(made, value)
    if os.environ.get("LLAMA_API_KEY"):  # as llama-server takes it
        made.api_keys = [os.environ["LLAMA_API_KEY"]]
    return made


PLAIN = {
    "port": "port",
    "ctx_size": "n_ctx",
    "parallel": "n_parallel",
    "batch_size": "n_batch",
    "ubatch_size": "n_ubatch",
    "cache_ram": "cache_ram_mib",
    "threads_http": "n_threads_http",
    "metrics": "endpoint_metrics",
    "ui": "ui",
    "cache_prompt": "cache_prompt",
    "kv_unified": "kv_unified",
    "warmup": "warmup",
}


def _ggml_type(name: str) -> Any:
    return getattr(xllamacpp.ggml_type, f"GGML_TYPE_{TYPES[name]}")


def _alias(made: Any, name: str) -> None:
    made.model_alias = {name}


def _cache_type_k(made: Any, name: str) -> None:
    made.cache_type_k = _ggml_type(name)


def _cache_type_v(made: Any, name: str) -> None:
    made.cache_type_v = _ggml_type(name)


def _flash_attention(made: Any, word: str) -> None:
    kinds = xllamacpp.llama_flash_attn_type
    made.flash_attn_type = getattr(kinds, f"LLAMA_FLASH_ATTN_TYPE_{ATTENTION[word]}")


def _fit(made: Any, word: str) -> None:
    made.fit_params = word == "on"


def _gpu_layers(made: Any, text: str) -> None:
    made.n_gpu_layers = ALL_LAYERS if text == "all" else int(text)


def _split_mode(made: Any, word: str) -> None:
    made.split_mode = getattr(xllamacpp.llama_split_mode, f"LLAMA_SPLIT_MODE_{word.upper()}")


def _threads(made: Any, count: int) -> None:
    made.cpuparams.n_threads = count


def _threads_batch(made: Any, count: int) -> None:
    made.cpuparams_batch.n_threads = count


def _seed(made: Any, number: int) -> None:
    made.sampling.seed = number


def _draft_model(made: Any, path: str) -> None:
    made.speculative.draft.mparams.path = path


def _draft_tokens(made: Any, count: int) -> None:
    made.speculative.draft.n_max = count


def _speculation(made: Any, word: str) -> None:
    kinds = xllamacpp.common_speculative_type
    name = word.replace("-", "_").upper()
    made.speculative.types = [getattr(kinds, f"COMMON_SPECULATIVE_TYPE_{name}")]


SPECIAL: dict[str, Callable[[Any, Any], None]] = {
    "alias": _alias,
    "cache_type_k": _cache_type_k,
    "cache_type_v": _cache_type_v,
    "flash_attn": _flash_attention,
    "fit": _fit,
    "gpu_layers": _gpu_layers,
    "split_mode": _split_mode,
    "threads": _threads,
    "threads_batch": _threads_batch,
    "seed": _seed,
    "model_draft": _draft_model,
    "spec_draft_n_max": _draft_tokens,
    "spec_type": _speculation,
}


def main(arguments: list[str]) -> int:
    """Serve until a signal comes; returns the exit code."""
    given = parser().parse_args(arguments)
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: _stop(asked))
    try:
        server = xllamacpp.Server(parameters(given))
    except RuntimeError as error:
        time.sleep(LAST_WORDS_S)  # its log is written by a thread that the end may overtake
        sys.stderr.write(f"error: {error}{_of_file(given.model)}\n")
        return INVALID_EXIT_CODE
    sys.stdout.write(f"xllamacpp {xllamacpp.__version__} at {server.listening_address}\n")
    sys.stdout.flush()
    asked.wait()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    del server
    return 0


def _of_file(path: str) -> str:
    """What is wrong with the model's file, in llama.cpp's words; empty: nothing is seen."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a script that needs little
            magic = file.read(len(MAGIC))
    except OSError as error:
        return f": failed to open GGUF file {path}: {error.strerror}"
    if magic == MAGIC:
        return ""
    return f": invalid magic characters: {magic!r}, expected {MAGIC!r}"


def _stop(asked: threading.Event) -> None:
    if asked.is_set():
        os._exit(FORCED_EXIT_CODE)
    asked.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Rates by PyTorch: ``python torch_probe.py ORDER``, alone and by itself.

Prints a JSON object a line: ``figures`` with blocks of seconds and units done, ``all_reduces``
with seconds by message size, ``unavailable`` with a reason. A device's work is waited for on
both sides of each block; 32-bit products are in 32 bits (no TF32).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

WARM_UPS = 5
COPY_BYTES = 1 << 30
HOST_BYTES = 1 << 28
LEAST_REPEATS = 3
RANKS_S = 240.0


def main(order: dict[str, Any]) -> None:
    """Do the order's tasks one after another; one that fails is told and stops no other."""
    if order.get("mode") == "all_reduce":
        _all_reduce(order)
        return
    if order.get("mode") == "devices":
        _devices()
        return
    cpus = order.get("cpus")
    if cpus:
        os.sched_setaffinity(0, cpus)
    torch: Any = import_module("torch")

    torch.backends.cuda.matmul.allow_tf32 = False
    if cpus:
        torch.set_num_threads(len(cpus))
    for task in order["tasks"]:
        whole = {**order, **task}
        try:
            once, units, more = _WORK[task["name"]](torch, whole)
            blocks = _blocks(torch, once, units, whole)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            first = (str(error).splitlines() or [type(error).__name__])[0]
            _told("unavailable", what=task["what"], why=f"PyTorch {torch.__version__}: {first}")
            continue
        _told("figures", way="torch", **task, blocks=blocks, tool=_tool(torch), **more)


def _tool(torch: Any) -> str:
    cuda = torch.version.cuda or getattr(torch.version, "hip", None)
    return f"PyTorch {torch.__version__}" + (f" (CUDA {cuda})" if cuda else "")


def _told(kind: str, **what: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **what}) + "\n")
    sys.stdout.flush()


def _devices() -> None:
    """How many accelerators this PyTorch sees, and their names."""
    torch: Any = import_module("torch")

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = [torch.cuda.get_device_name(index) for index in range(count)]
    _told("devices", count=count, names=names, tool=_tool(torch))


def _product(torch: Any, task: dict[str, Any]) -> tuple[Callable[[], Any], float, Any]:
    n, device, precision = task["n"], task["torch_device"], task["precision"]
    plain = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    work = 2.0 * n**3
    if precision in plain:
        a = torch.full((n, n), 0.5, dtype=plain[precision], device=device)
        b = torch.full((n, n), 2.0, dtype=plain[precision], device=device)
        return (lambda: torch.matmul(a, b)), work, {"size": n}
    if precision == "int8":
        a = torch.ones((n, n), dtype=torch.int8, device=device)
        b = torch.ones((n, n), dtype=torch.int8, device=device).t()
        return (lambda: torch._int_mm(a, b)), work, {"size": n}  # noqa: SLF001 - no other
    one = torch.ones((), device=device)
    a = torch.ones((n, n), device=device).to(torch.float8_e4m3fn)
    b = torch.ones((n, n), device=device).to(torch.float8_e4m3fn).t()

    def once() -> Any:
        return torch._scaled_mm(  # noqa: SLF001 - no other
            a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )

    return once, work, {"size": n}


def _copy(torch: Any, task: dict[str, Any]) -> tuple[Callable[[], Any], float, Any]:
    size = task.get("copy_bytes", COPY_BYTES)
    source = torch.ones(size // 4, dtype=torch.float32, device=task["torch_device"])
    target = torch.empty_like(source)
    return (lambda: target.copy_(source)), 2.0 * size, {"bytes": size}


def _read(torch: Any, task: dict[str, Any]) -> tuple[Callable[[], Any], float, Any]:
    size = task.get("copy_bytes", COPY_BYTES)
    source = torch.ones(size // 4, dtype=torch.float32, device=task["torch_device"])
    return source.sum, float(size), {"bytes": size}


def _to_device(torch: Any, task: dict[str, Any]) -> tuple[Callable[[], Any], float, Any]:
    return _over_link(torch, task, to_device=True)


def _from_device(torch: Any, task: dict[str, Any]) -> tuple[Callable[[], Any], float, Any]:
    return _over_link(torch, task, to_device=False)


def _over_link(
    torch: Any, task: dict[str, Any], *, to_device: bool
) -> tuple[Callable[[], Any], float, Any]:
    size, device = task.get("host_bytes", HOST_BYTES), task["torch_device"]
    host = torch.ones(size, dtype=torch.uint8).pin_memory()
    there = torch.ones(size, dtype=torch.uint8, device=device)
    target, source = (there, host) if to_device else (host, there)
    return (
        (lambda: target.copy_(source, non_blocking=True)),
        float(size),
        {"bytes": size},
    )


_WORK: dict[str, Callable[..., tuple[Callable[[], Any], float, Any]]] = {
    "matmul": _product,
    "memory_copy": _copy,
    "memory_read": _read,
    "host_to_device": _to_device,
    "device_to_host": _from_device,
}


def _blocks(
    torch: Any, once: Callable[[], Any], units: float, task: dict[str, Any]
) -> list[list[float]]:
    device = task["torch_device"]

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize(device)

    def block(times: int) -> float:
        wait()
        start_s = time.perf_counter()
        for _ in range(times):
            once()
        wait()
        return time.perf_counter() - start_s

    times = 1
    for _ in range(WARM_UPS):
        seconds = block(times)
        if seconds < task["block_s"]:
            times = max(1, int(times * min(64.0, task["block_s"] / seconds)))
    return [[block(times), units * times] for _ in range(task["blocks"])]


def _all_reduce(order: dict[str, Any]) -> None:
    """The same script once a rank; the first rank's times are told."""
    with tempfile.TemporaryDirectory(prefix="runoff-ranks-") as folder:
        ranks = [
            subprocess.Popen(  # noqa: S603 - this script
                [
                    *(sys.executable, "-P", "-s", __file__, json.dumps(order)),
                    *(str(rank), str(Path(folder, "meet"))),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(order["ranks"])
        ]
        try:
            said = [rank.communicate(timeout=RANKS_S) for rank in ranks]
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
                    rank.wait()
    if any(rank.returncode for rank in ranks):
        errors = [error.strip().splitlines()[-1] for _, error in said if error.strip()]
        why = errors[0] if errors else "a rank ended early"
        _told("unavailable", what=order["what"], why=why)
        return
    sys.stdout.write(said[0][0])


def _rank(order: dict[str, Any], rank: int, meet: str) -> None:
    torch: Any = import_module("torch")
    dist: Any = import_module("torch.distributed")

    is_gpu = order["backend"] == "nccl"
    device = f"cuda:{rank}" if is_gpu else "cpu"
    if is_gpu:
        torch.cuda.set_device(rank)
    else:
        torch.set_num_threads(1)
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        order["backend"], init_method=f"file://{meet}", rank=rank, world_size=order["ranks"]
    )
    points = []
    for size in order["message_bytes"]:
        tensor = torch.zeros(size // 2, dtype=torch.bfloat16, device=device)

        def block(times: int, tensor: Any = tensor) -> float:
            dist.barrier()
            if is_gpu:
                torch.cuda.synchronize()
            start_s = time.perf_counter()
            for _ in range(times):
                dist.all_reduce(tensor)
            if is_gpu:
                torch.cuda.synchronize()
            return (time.perf_counter() - start_s) / times

        each = torch.tensor([max(block(LEAST_REPEATS) for _ in range(2))])
        share = order["block_s"] / max(float(each[0]), 1e-7)
        times = torch.tensor([max(LEAST_REPEATS, min(2000, int(share)))], device=device)
        dist.broadcast(times, 0)  # all ranks must make as many
        seconds = [block(int(times[0])) for _ in range(order["blocks"])]
        points.append({"message_bytes": size, "seconds": seconds})
    if rank == 0:
        _told(
            "all_reduces",
            devices=order["ranks"],
            backend=order["backend"],
            device_class=order["device_class"],
            tool=f"{_tool(torch)}, torch.distributed over {order['backend']}",
            points=points,
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _rank(json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        main(json.loads(sys.argv[1]))

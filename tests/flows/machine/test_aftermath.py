from __future__ import annotations

from dataclasses import replace

import pytest

from flows.control.host import Here
from flows.machine.aftermath import aftermath, telling, uptime_s
from flows.machine.explained import Explanation, explanations, is_machines_fault
from flows.machine.found import FoundMachine
from reports.run.aftermath_file import AftermathFile
from tests.flows.control.conftest import plant
from tests.flows.machine.scenes import scene

H100 = scene("h100-sxm-535")
KERNEL = """\
[  100.000000] NVRM: Xid (PCI:0000:18:00): 48, pid=1, DBE
[ 4000.000001] usb 1-1: new device
[ 5000.100000] NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', GPU has fallen off the bus.
[ 5000.200000] Out of memory: Killed process 4711 (llama-server) total-vm:9kB
"""


@pytest.mark.parametrize(
    ("line", "whose", "words"),
    [
        (
            "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.",
            "machine",
            "device 0000:18:00: the device has fallen off the bus (Xid 79)",
        ),
        (
            "NVRM: Xid (PCI:0000:18:00): 31, pid=5, MMU Fault",
            "candidate",
            "device 0000:18:00: a program of it read memory that is not its own (Xid 31)",
        ),
        (
            "NVRM: Xid (0000:18:00): 999, new",
            "either",
            "device 0000:18:00: see NVIDIA's list of Xid errors (Xid 999)",
        ),
        (
            "Out of memory: Killed process 4711 (python3) total-vm:1kB",
            "candidate",
            "main memory was full: the kernel killed python3",
        ),
        (
            "Memory cgroup out of memory: Killed process 4711 (vllm) total-vm:1kB",
            "candidate",
            "its group's memory was full: the kernel killed vllm",
        ),
        (
            "amdgpu 0000:0c:00.0: amdgpu: GPU reset begin!",
            "machine",
            "the driver tells of the device: GPU reset",
        ),
        ("blk_update_request: I/O error, dev sda", "machine", "a disk failed or is full"),
    ],
)
def test_a_kernels_line_says_whose_fault_it_was(line, whose, words):
    assert explanations([line], H100, H100) == (Explanation(whose, words),)


def test_a_device_that_is_gone_is_the_machines_fault():
    gone = replace(H100, devices=H100.devices[:1])
    found = explanations([], H100, gone)
    none = explanations([], H100, FoundMachine(why_none="no driver"))

    assert found == (Explanation("machine", "device 1 is gone"),)
    assert [each.words for each in none] == [
        "device 0 is gone: no driver",
        "device 1 is gone: no driver",
    ]
    assert is_machines_fault(found)


def test_a_full_memory_is_not_the_machines_fault():
    assert not is_machines_fault(
        explanations(["Out of memory: Killed process 1 (a)"], H100, H100)
    )
    assert explanations(["audit: all well"], H100, H100) == ()


def test_lines_from_before_the_launch_and_of_other_matters_are_left_out():
    lines = KERNEL.splitlines()

    assert telling(lines, 4500.0) == tuple(lines[2:])
    assert telling(lines) == (lines[0], *lines[2:])


def test_an_aftermath_is_fetched_and_kept(smi, tmp_path):
    plant(tmp_path / "root/proc/meminfo", "MemTotal: 16 kB\nBuffers: 1 kB\nSwapFree: 0 kB\n")
    plant(tmp_path / "root/proc/uptime", "4500.25 9000.00\n")
    plant(tmp_path / "dmesg.txt", KERNEL)
    smi.put("dmesg", f"cat '{tmp_path}/dmesg.txt'")
    host = Here(root=tmp_path / "root")

    found = aftermath(host, uptime_s(host))
    file = AftermathFile.model_validate(
        {"host": "h", "candidate": "B", "launch": "B-0", "seen_at": "", "why": "died", **found}
    )

    assert len(file.kernel) == 2
    assert file.memory == {"MemTotal": 16384, "SwapFree": 0}
    assert FoundMachine.of(file.devices).devices == H100.devices


def test_a_kernel_log_that_may_not_be_read_is_said(smi, tmp_path):
    smi.put("dmesg", "echo 'dmesg: read kernel buffer failed: Operation not permitted'; exit 1")

    found = aftermath(Here(root=tmp_path / "root"))

    assert found["kernel"] is None
    assert found["why_no_kernel"].endswith("Operation not permitted")

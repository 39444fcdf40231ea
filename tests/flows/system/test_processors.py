from __future__ import annotations

from flows.system.facts import Cache, Core, NumaNode
from flows.system.processors import cpu_of
from flows.system.texts import Texts

CPU = "sys/devices/system/cpu"


def test_sockets_cores_and_threads_are_told_apart(two_sockets):
    cpu = cpu_of(two_sockets, [3, 1])

    assert cpu.model == "Intel(R) Xeon(R) Platinum 8480+"
    assert cpu.sockets == 2
    assert cpu.cores == (Core(socket=0, cpus=(0, 2)), Core(socket=1, cpus=(1, 3)))
    assert cpu.smt is True
    assert cpu.allowed == (1, 3)


def test_caches_count_once_however_many_cpus_share_them(two_sockets):
    cpu = cpu_of(two_sockets, [0])

    assert cpu.caches == (
        Cache(level=1, kind="data", bytes_each=48 * 1024, count=2),
        Cache(level=1, kind="instruction", bytes_each=32 * 1024, count=2),
        Cache(level=2, kind="unified", bytes_each=2048 * 1024, count=2),
        Cache(level=3, kind="unified", bytes_each=107520 * 1024, count=2),
    )
    assert cpu.on_chip_bytes == 2 * (48 + 2048 + 107520) * 1024
    assert cpu.last_level_bytes == 2 * 107520 * 1024


def test_governor_turbo_frequency_and_instruction_sets_are_read(two_sockets):
    cpu = cpu_of(two_sockets, [0])

    assert cpu.governors == ("performance", "powersave")
    assert cpu.turbo is False
    assert cpu.max_mhz == 3800.0
    assert cpu.isa == ("avx2", "avx512f", "amx_tile", "amx_bf16", "amx_int8")
    assert cpu.microcode == "0x2b"


def test_memory_nodes_have_their_cpus_and_bytes(two_sockets):
    assert cpu_of(two_sockets, [0]).numa == (
        NumaNode(node=0, cpus=(0, 2), memory_bytes=1024 * 1024),
        NumaNode(node=1, cpus=(1, 3), memory_bytes=None),
    )


def test_what_a_kernel_does_not_tell_is_unknown_and_not_none_of_it(tmp_path):
    cpu = cpu_of(Texts(tmp_path), [0])

    assert (cpu.model, cpu.sockets, cpu.smt, cpu.turbo, cpu.max_mhz) == (None,) * 5
    assert (cpu.on_chip_bytes, cpu.last_level_bytes) == (None, None)
    assert (cpu.cores, cpu.caches, cpu.governors) == ((), (), ())


def test_an_arm_processor_without_a_name_shows_its_numbers(planted):
    texts = planted(
        {
            "proc/cpuinfo": "processor : 0\nFeatures : fp asimd asimddp sve bf16\n"
            "CPU implementer : 0x41\nCPU part : 0xd4f",
            f"{CPU}/cpu0/topology/physical_package_id": "-1",
            f"{CPU}/cpu0/topology/thread_siblings_list": "0",
            f"{CPU}/smt/active": "notsupported",
            f"{CPU}/cpufreq/boost": "1",
        }
    )
    cpu = cpu_of(texts, [0])

    assert cpu.model == "Arm implementer 0x41, part 0xd4f"
    assert cpu.isa == ("asimd", "asimddp", "sve", "bf16")
    assert cpu.smt is False
    assert cpu.turbo is True
    assert cpu.cores == (Core(socket=0, cpus=(0,)),)


def test_a_cpu_that_is_off_is_no_core(planted):
    texts = planted(
        {
            f"{CPU}/cpu0/topology/physical_package_id": "0",
            f"{CPU}/cpu0/topology/thread_siblings_list": "0",
            f"{CPU}/cpu1/online": "0",
        }
    )

    assert [core.cpus for core in cpu_of(texts, [0]).cores] == [(0,)]

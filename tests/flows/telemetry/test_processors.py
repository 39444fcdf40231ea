from __future__ import annotations

from flows.telemetry.processors import Processors

STAT = "cpu  100 5 50 800 20 3 2 15 0 0\ncpu0 100 5 50 800 20 3 2 15 0 0\nintr 1\n"


def test_counters_are_the_kernels_own(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(STAT)
    (tmp_path / "proc/vmstat").write_text("pswpin 4\npswpout 9\npgmajfault 77\n")

    assert Processors(tmp_path).sample(9) == {
        "source": "host",
        "at_ns": 9,
        "used_ticks": 160,
        "steal_ticks": 15,
        "all_ticks": 995,
        "major_faults": 77,
        "swapped_in_pages": 4,
        "cpu_mhz": None,
        "cpu_mhz_low": None,
        "cpu_mhz_high": None,
    }


def test_a_few_processors_stand_for_hundreds(tmp_path):
    for cpu in range(100):
        path = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
        path.parent.mkdir(parents=True)
        path.write_text("2100000\n" if cpu else "1000000\n")
    looker = Processors(tmp_path)

    found = looker.sample(0)

    assert len(looker._clocks) <= 16
    assert (found["cpu_mhz_low"], found["cpu_mhz"]) == (1000.0, 2100.0)


def test_a_kernel_that_tells_nothing_gives_nulls_and_no_error(tmp_path):
    found = Processors(tmp_path).sample(0)

    assert {name for name, value in found.items() if value is not None} == {"source", "at_ns"}

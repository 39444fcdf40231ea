from __future__ import annotations

import json
from dataclasses import replace

from flows.machine.flat import host_facts
from flows.machine.found import FoundMachine
from tests.flows.machine.scenes import scene

H100 = scene("h100-sxm-535")


def test_what_all_devices_share_is_told_once():
    facts = host_facts(H100, {"accelerators_per_node": 2, "cooling": None})

    assert facts["accelerators"] == "2 × NVIDIA H100 80GB HBM3"
    assert facts["accelerator_memory_mib"] == 81559
    assert facts["links"] == {"GPU 0 – GPU 1": "NV18"}
    assert facts["mlperf.accelerators_per_node"] == 2
    assert "mlperf.cooling" not in facts
    assert json.loads(json.dumps(facts))["accelerator_driver"] == "535.183.01"


def test_devices_that_differ_are_told_one_by_one():
    first, second = H100.devices
    found = replace(H100, devices=(first, replace(second, vbios="other")))

    assert host_facts(found, {})["accelerator_vbios"] == ["96.00.89.00.01", "other"]


def test_devices_that_could_not_be_looked_at_are_a_fact_too():
    facts = host_facts(FoundMachine(why_none="no driver"), {})

    assert facts["accelerators"] == "none seen: no driver"
    assert facts["links"] is None

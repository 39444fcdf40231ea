from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from flows.foreign_load import HostLoad
from flows.host_lock import Holder
from flows.preflight import Finding, preflight
from flows.preflight.finding import blocks, warns
from flows.preflight.probes import Reached
from flows.preflight.rooms import record_bytes, weight_bytes

GOOD = (
    "{name: a, host: local, runtime: llama_server, checkpoint: dummy, precision: gguf_f16, "
    "settings: {cpus: [0, 1]}, assumptions: {price: $0.10/h}}"
)
SERVICE = "{name: ours, endpoint: ['https://models.example/v1'], price: $1/h%s}"
KEYED = SERVICE % ", api_key_env: OURS_KEY"
LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"
RENTED = "{name: r, offer: aws/p4de.24xlarge, runtime: vllm, version: 0.29.0}"

BUSY = HostLoad(
    seconds=1.0,
    samples=1,
    cpus=4,
    ours_cores=0.0,
    strangers_cores=1.5,
    hidden_cores=0.0,
    kernel_cores=0.0,
    foreign_share=0.375,
    peak_foreign_share=0.375,
    steal_share=0.0,
    peak_steal_share=0.0,
    major_faults=0,
    swapped_in_bytes=0,
    load_1min=1.5,
    strangers=(),
)


def only(findings: list[Finding], about: str) -> Finding:
    """The one finding whose place or words hold a text."""
    (finding,) = [each for each in findings if about in str(each)]
    return finding


def test_a_campaign_that_nothing_stands_against_has_no_finding(found):
    assert found(GOOD) == []


def test_findings_that_block_come_first_and_one_that_several_share_names_them_all(
    question, world
):
    more = [warns("z", "s", "d"), blocks("y", "s", "d"), blocks("x", "s", "d")]

    findings = preflight(question(GOOD), world, [*more, *more])

    assert [str(each) for each in findings] == ["y; x: s. d", "z: s. d"]


# launches


def test_a_launch_that_cannot_be_rendered_is_one_finding_and_the_others_are_still_looked_at(
    found,
):
    findings = found(
        "{name: bad, host: local, runtime: llama_server, checkpoint: dummy, "
        "settings: {nonsense: 1}}",
        GOOD.replace("[0, 1]", "[9]"),
    )

    assert only(findings, "nonsense").where == "candidate 'bad', settings"
    assert only(findings, "CPU 9 is not among").severity == "blocks"


def test_a_gated_checkpoint_needs_a_token(found):
    candidate = "{name: g, host: local, runtime: vllm_cpu, settings: {cpus: [0]}, price: $1/h}"

    finding = only(found(candidate, model=LLAMA), "gated")

    assert finding.severity == "blocks"
    assert finding.where == "candidate 'g', checkpoint"
    assert "HF_TOKEN is not set" in finding.seen


def test_with_a_token_the_licence_of_a_gated_checkpoint_is_still_a_warning(found):
    candidate = "{name: g, host: local, runtime: vllm_cpu, settings: {cpus: [0]}, price: $1/h}"

    findings = found(candidate, model=LLAMA, changed={"environment": {"HF_TOKEN": "hf_xxxxxx"}})

    assert only(findings, "gated").severity == "warns"
    assert "hf_xxxxxx" not in str(findings)


def test_a_sites_own_hub_asks_for_no_token(found):
    candidate = "{name: g, host: local, runtime: vllm_cpu, settings: {cpus: [0]}, price: $1/h}"
    more = "mirrors: {hub: 'https://hub.site.example'}"

    assert not [
        each for each in found(candidate, model=LLAMA, more=more) if "gated" in str(each)
    ]


def test_an_engine_that_loads_files_fetches_nothing_by_name(found):
    finding = only(found(GOOD.replace("dummy", "hub")), "fetches nothing by name")

    assert finding.severity == "blocks"


def test_a_checkpoint_of_the_users_must_be_there(found, tmp_path):
    candidate = GOOD.replace("dummy", "weights/model-of-mine")

    assert (
        only(
            found(candidate, changed={"exists": lambda path: False}), "there is no weights"
        ).severity
        == "blocks"
    )


def test_a_program_of_the_host_must_be_there(found):
    candidate = GOOD.replace("{cpus", "{form: binary, cpus")

    finding = only(found(candidate, changed={"program": lambda name: None}), "llama-server")

    assert finding.severity == "blocks"
    assert finding.where == "candidate 'a'"
    assert found(candidate) == []


def test_a_program_that_settings_place_is_looked_for_there(found):
    candidate = GOOD.replace(
        "{cpus", "{form: binary, programs: {llama-server: /opt/llama-server}, cpus"
    )
    looked = []

    found(candidate, changed={"exists": lambda path: bool(looked.append(path)) or True})

    assert "/opt/llama-server" in looked


def test_a_python_without_ensurepip_makes_no_environment(found):
    finding = only(found(GOOD, changed={"has_module": lambda name: False}), "ensurepip")

    assert finding.severity == "blocks"


def test_an_image_without_a_digest_is_a_warning(found):
    candidate = (
        "{name: i, host: local, device: nvidia-l4, runtime: vllm, version: 0.29.0, "
        "image: site/vllm:1, settings: {cpus: [0]}, price: $1/h}"
    )

    assert only(found(candidate), "site/vllm:1 has no digest").severity == "warns"


def test_only_a_port_that_the_file_states_must_be_free(found):
    taken = {"taken": lambda host, port: (f"port {port} is taken already", "Stop it")}

    assert found(GOOD, changed=taken) == []
    finding = only(found(GOOD.replace("{cpus", "{port: 8123, cpus"), changed=taken), "8123")
    assert (finding.severity, finding.where) == ("blocks", "candidate 'a', settings.port")


# room


def test_a_store_that_cannot_be_written_blocks(found):
    refused = {"unwritable": lambda folder: "Read-only" if folder.name == "runs" else None}

    finding = only(found(GOOD, changed=refused), "store")

    assert finding.severity == "blocks"
    assert finding.seen == "no file can be made there: Read-only"


def test_one_disk_must_hold_weights_and_records_together(found, question):
    asked = question(GOOD)
    records, weights = record_bytes(asked), weight_bytes(asked)
    short = {"room": lambda folder: records + weights - 1}

    finding = only(found(GOOD, changed=short), "are needed, and")

    assert finding.severity == "blocks"
    assert "store about" in finding.seen
    assert "checkpoints about" in finding.seen
    assert found(GOOD, changed={"room": lambda folder: records + weights}) == []


def test_of_two_disks_each_must_hold_its_own(found, question):
    records = record_bytes(question(GOOD))
    apart = {
        "disk": lambda folder: hash(folder.name),
        "room": lambda folder: records if folder.name == "runs" else 1000,
    }

    assert only(found(GOOD, changed=apart), "are needed, and").where.startswith("checkpoints ")


def test_weights_that_are_kept_already_need_no_room(found):
    changed = {"room": lambda folder: 2**31, "kept": lambda folder: 10**9}

    assert found(GOOD, changed=changed) == []


def test_candidates_with_the_same_weights_need_them_once(question):
    once = weight_bytes(question(GOOD))

    assert once > 200_000_000
    assert weight_bytes(question(GOOD, GOOD.replace("name: a", "name: b"))) == once


def test_records_grow_with_requests_and_launches(question):
    few = record_bytes(question(GOOD, more="matrix: {requests: 200, replications: 3}"))

    assert record_bytes(question(GOOD, more="matrix: {requests: 400, replications: 3}")) > few
    assert (
        record_bytes(question(GOOD, more="matrix: {requests: 200, replications: 6}")) == 2 * few
    )


def test_weights_beyond_this_machines_memory_block(found, world):
    small = replace(world.system, memory=replace(world.system.memory, total_bytes=2**20))

    assert only(found(GOOD, changed={"system": small}), "weights alone").severity == "blocks"


def test_a_control_groups_share_is_the_memory_that_counts(found, world):
    small = replace(
        world.system, limits=replace(world.system.limits, cgroup_memory_bytes=2**20)
    )

    assert only(found(GOOD, changed={"system": small}), "weights alone").severity == "blocks"


def test_memory_that_is_in_use_now_is_a_warning(found, world):
    full = replace(world.system, memory=replace(world.system.memory, available_bytes=2**20))

    assert only(found(GOOD, changed={"system": full}), "streams are").severity == "warns"


@pytest.mark.parametrize(
    ("matrix", "connections"),
    [
        ("{concurrency: [1, 3000]}", 3000),
        ("{concurrency: [1], rates: [8/s], requests: 2000}", 2000),
    ],
)
def test_the_limit_on_open_files_must_hold_the_most_connections(
    found, world, matrix, connections
):
    low = replace(world.system, limits=replace(world.system.limits, open_files_most=1024))

    finding = only(found(GOOD, more=f"matrix: {matrix}", changed={"system": low}), "ulimit")

    assert finding.severity == "blocks"
    assert f"up to {connections} connections" in finding.seen


def test_a_cap_on_requests_in_flight_bounds_the_connections_of_a_rate(found, world):
    low = replace(world.system, limits=replace(world.system.limits, open_files_most=1024))
    more = "matrix: {concurrency: [1], rates: [8/s], requests: 2000, max_in_flight: 64}"

    assert found(GOOD, more=more, changed={"system": low}) == []


# money


def test_a_price_that_nobody_states_is_a_warning(found):
    finding = only(found(GOOD.replace(", assumptions: {price: $0.10/h}", "")), "price")

    assert finding.severity == "warns"
    assert "ranked by tokens per machine-hour" in finding.seen


def test_a_budget_in_money_cannot_be_held_without_a_price(found):
    candidate = "{name: r, offer: aws/p5e.48xlarge, runtime: vllm, version: 0.29.0}"

    finding = only(found(candidate, model=LLAMA), "the budget cannot be held")

    assert (finding.severity, finding.where) == ("blocks", "candidate 'r', price")


def test_a_price_older_than_90_days_is_stale(found):
    fresh = found(RENTED, model=LLAMA)
    old = found(RENTED, model=LLAMA, today=dt.date(2027, 8, 1))

    assert not [each for each in fresh if "older than 90 days" in each.seen]
    assert only(old, "older than 90 days").severity == "warns"


def test_rented_machines_without_a_budget_are_a_warning(found):
    findings = found(RENTED, model=LLAMA, more="matrix: {concurrency: [1]}")

    assert only(findings, "nothing limits the cost").severity == "warns"


# places


def test_a_device_without_a_machine_is_nowhere(found):
    findings = found("{name: d, device: nvidia-l4, runtime: vllm, price: $1/h}")

    assert only(findings, "no machine that has one").severity == "blocks"


def test_a_host_that_no_driver_gives_out_is_refused_by_name(found):
    finding = only(
        found("{name: h, host: 'nobody://x', runtime: vllm_cpu, price: $1/h}"), "no driver"
    )

    assert finding.severity == "blocks"
    assert "nobody://x" in finding.seen


def test_an_endpoints_key_must_be_in_the_environment(found):
    assert only(found(KEYED), "OURS_KEY").severity == "blocks"


def test_an_endpoint_is_asked_with_its_key_and_the_key_is_in_no_finding(found):
    asked = []

    def ask(url, headers):
        asked.append((url, headers))
        return Reached(status=401)

    findings = found(KEYED, changed={"environment": {"OURS_KEY": "planted-secret"}, "ask": ask})

    assert asked == [("https://models.example/v1", {"Authorization": "Bearer planted-secret"})]
    assert only(findings, "it refuses us (HTTP 401)").severity == "blocks"
    assert "planted-secret" not in str(findings)


@pytest.mark.parametrize(
    ("reached", "severity", "said"),
    [
        (
            Reached(status=None, seen="nothing listens there", do="Start it"),
            "blocks",
            "listens",
        ),
        (Reached(status=503), "blocks", "out of order (HTTP 503)"),
        (Reached(status=200, models=("other",)), "warns", "it lists other, not"),
    ],
)
def test_what_a_service_answers_is_told(found, reached, severity, said):
    finding = only(found(SERVICE % "", changed={"ask": lambda *_: reached}), said)

    assert finding.severity == severity


@pytest.mark.parametrize("reached", [Reached(status=404), Reached(status=200)])
def test_a_service_that_does_not_list_its_models_is_taken_as_it_is(found, reached):
    assert found(SERVICE % "", changed={"ask": lambda *_: reached}) == []


def test_the_loopback_guard_keeps_from_services_and_machines_elsewhere(found):
    def never(*_):
        raise AssertionError("asked beyond loopback")

    guarded = {"environment": {"RUNOFF_LOOPBACK_ONLY": "1"}, "ask": never}

    assert "RUNOFF_LOOPBACK_ONLY=1" in only(found(SERVICE % "", changed=guarded), "ours").seen
    assert found(GOOD, changed=guarded) == []


def test_server_and_load_on_the_same_cores_are_a_warning_with_the_split(found):
    finding = only(found(GOOD.replace("settings: {cpus: [0, 1]}, ", "")), "settings.cpus")

    assert finding.severity == "warns"
    assert "State cpus: [0, 1, 2]" in finding.do


def test_a_simulated_engine_is_told_of_no_cpus(found):
    simulated = "{name: s, host: local, runtime: rehearsal, assumptions: {price: $0.10/h}}"

    assert "settings.cpus" not in str(found(simulated))


def test_a_machine_that_is_held_or_busy_blocks(found):
    holder = Holder(
        token="t",
        host="local",
        pid=4_000_000,
        started_ticks=1,
        user="eve",
        campaign="theirs",
        run="r",
        since=dt.datetime(2026, 8, 25, tzinfo=dt.UTC),
        expires=dt.datetime(2026, 8, 26, tzinfo=dt.UTC),
    )
    findings = found(GOOD, changed={"holder": lambda: holder, "load": lambda: BUSY})

    assert only(findings, "held by campaign 'theirs' of eve").severity == "blocks"
    assert only(findings, "others use 1.50 of its 4 cores").severity == "blocks"


def test_nobody_looks_at_this_machine_for_services_elsewhere(found):
    def never():
        raise AssertionError("looked")

    assert found(SERVICE % "", changed={"load": never, "holder": never}) == []


def test_a_campaign_that_explores_is_told_of_others_and_goes_on(found):
    more = "exploratory: true\nmatrix: {concurrency: [1], requests: 20}"

    findings = found(GOOD, more=more, changed={"load": lambda: BUSY})

    assert only(findings, "others use 1.50").severity == "warns"

"""Every runtime that is found, in every release and form, keeps the same promises."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace

import pytest
import yaml

from catalog.errors import CatalogError
from deploy_templates.plan import LaunchPlan, read_plan
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder, runtime_folders

FOLDERS = {name: load_runtime_folder(name) for name in runtime_folders()}
LAUNCHES = [
    (name, version.version, form.name)
    for name, folder in FOLDERS.items()
    for version in folder.capabilities.versions
    for form in folder.launch.forms
]


def request_for(name: str, version: str, form: str) -> LaunchRequest:
    folder = FOLDERS[name]
    return LaunchRequest(
        name="candidate",
        runtime=name,
        version=version,
        mode=folder.form(form).mode,
        variant=form,
        model="org/model",
        port=8000,
        device_class=(
            *folder.form(form).device_classes,
            folder.capabilities.devices[0].device_class,
        )[0],
        checkpoint=Checkpoint(kind="path", location="/models/model.gguf", sha256="0" * 64),
        image="site/image:1",
        variables=Variables(),
    )


def plan_or_reason(launch: tuple[str, str, str]) -> LaunchPlan | str:
    try:
        return render(request_for(*launch), FOLDERS[launch[0]])
    except CatalogError as error:
        return str(error)


RENDERED = {launch: plan_or_reason(launch) for launch in LAUNCHES}
PLANS = {launch: plan for launch, plan in RENDERED.items() if isinstance(plan, LaunchPlan)}
each_plan = pytest.mark.parametrize(
    "plan", [pytest.param(plan, id="-".join(launch)) for launch, plan in PLANS.items()]
)


def test_what_is_not_launched_lacks_the_form_or_a_package() -> None:
    refused = {launch: reason for launch, reason in RENDERED.items() if launch not in PLANS}

    assert ("vllm_cpu", "0.6.3", "venv") in refused
    assert ("tensorrt_llm", "1.3.0rc22", "engine") in refused
    assert {
        launch: reason
        for launch, reason in refused.items()
        if not re.search("has no form|is published", reason)
    } == {}


def test_each_runtime_has_a_launch_of_its_newest_release() -> None:
    newest = {(name, version) for name, version, _ in PLANS}

    assert {(name, folder.newest) for name, folder in FOLDERS.items()} <= newest


@each_plan
def test_a_launch_is_whole(plan: LaunchPlan) -> None:
    assert read_plan(plan.text(), "plan.json") == plan
    assert all(isinstance(word, str) and word for word in plan.argv)
    assert re.fullmatch("[0-9a-f]{64}", plan.fingerprint)
    assert plan.readiness.limit_s > 0
    assert plan.failures
    assert plan.phases
    assert "serve.sh" in plan.files
    assert str(plan.port) in " ".join(plan.argv)
    assert not plan.simulation or plan.runtime == "rehearsal"


@each_plan
def test_scripts_are_scripts_of_a_shell(plan: LaunchPlan) -> None:
    for script in (plan.install.script, plan.files["serve.sh"]):
        checked = subprocess.run(
            ["sh", "-n"], input=script, capture_output=True, text=True, check=False
        )

        assert checked.stderr == ""


@each_plan
def test_patterns_are_regular_expressions(plan: LaunchPlan) -> None:
    for pattern in (*plan.failures, *plan.phases):
        assert re.compile(pattern.pattern).groups <= 1
    for reported in plan.report.settings:
        if reported.dialect == "log":
            assert re.compile(reported.key).groups == 1


@pytest.mark.parametrize("name", ["rehearsal", "tensorrt_llm"])
def test_configuration_files_hold_what_was_asked(name: str) -> None:
    folder = FOLDERS[name]
    form = folder.launch.forms[0].name
    request = request_for(name, folder.newest, form)
    plan = render(replace(request, variables=Variables(max_model_len=321)), folder)
    path = folder.launch.config_files[0].path
    loaded = (json.loads if path.endswith(".json") else yaml.safe_load)(plan.files[path])

    assert "321" in json.dumps(loaded)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_runtime_answers_for_every_variable_and_says_what_it_was_checked_on(
    name: str,
) -> None:
    folder = FOLDERS[name]
    known = {version.version for version in folder.capabilities.versions}

    assert set(folder.launch.verified) <= known
    assert folder.launch.sources
    for variable in folder.launch.variables.values():
        assert variable.controls or variable.uncontrolled


@pytest.mark.parametrize("name", ["openvino", "tensorrt_llm"])
def test_what_was_only_rendered_says_so(name: str) -> None:
    folder = FOLDERS[name]
    plan = PLANS[name, folder.newest, folder.launch.forms[0].name]

    assert any("is rendered only" in threat for threat in plan.threats)


def test_the_tensorrt_engine_is_refused_where_upstream_removed_it() -> None:
    folder = FOLDERS["tensorrt_llm"]

    assert ("tensorrt_llm", "1.3.0rc20", "engine") in PLANS
    with pytest.raises(CatalogError, match=r"removed from 1\.3\.0rc21 on"):
        render(request_for("tensorrt_llm", "1.3.0rc21", "engine"), folder)


def test_triton_serves_what_its_model_file_says() -> None:
    request = replace(request_for("tensorrt_llm", "1.2.1", "triton"), image=None)
    plan = render(
        replace(request, variables=Variables(tensor_parallel=2, eager=True)),
        FOLDERS["tensorrt_llm"],
    )
    written = yaml.safe_load(plan.files["model_repository/tensorrt_llm/1/model.yaml"])

    assert written["model"] == "/model/model.gguf"
    assert written["tensor_parallel_size"] == 2
    assert written["cuda_graph_config"] is None
    assert plan.served_model == "tensorrt_llm"


def test_the_model_server_takes_its_plug_ins_settings_as_one_object() -> None:
    plan = render(
        replace(
            request_for("openvino", "2026.4.1", "image"),
            variables=Variables(weights="bfloat16", kv_cache="float16", threads=8),
        ),
        FOLDERS["openvino"],
    )
    text = plan.argv[plan.argv.index("--plugin_config") + 1]

    assert json.loads(text) == {
        "INFERENCE_PRECISION_HINT": "bf16",
        "KV_CACHE_PRECISION": "f16",
        "INFERENCE_NUM_THREADS": 8,
    }


# lines as the engines write them: llama-server's from runs, the others' from their sources
SEEN = [
    ("llama_server", "error: invalid argument: --bogus", "unknown flag"),
    (
        "llama_server",
        (
            "0.00.003.487 E srv         start: couldn't bind HTTP server socket, "
            "hostname: 127.0.0.1, port: 18182"
        ),
        "port in use",
    ),
    (
        "llama_server",
        (
            "0.00.004.132 E gguf_init_from_file: failed to open GGUF file 'nope.gguf' "
            "(No such file or directory)"
        ),
        "model file missing",
    ),
    (
        "llama_server",
        "gguf_init_from_reader: invalid magic characters: 'hell', expected 'GGUF'",
        "not a GGUF file",
    ),
    (
        "llama_server",
        (
            "0.00.005.733 W llama_context: n_ctx_seq (900000000) > n_ctx_train (2048) -- "
            "possible training context overflow"
        ),
        "context too long",
    ),
    (
        "llama_server",
        "0.00.004.929 E srv    load_model: failed to create_context with model 'tiny.gguf'",
        "no context",
    ),
    ("vllm", "api_server.py: error: unrecognized arguments: --bogus", "unknown flag"),
    (
        "vllm",
        (
            "ValueError: To serve at least one request with the model's max seq len (131072), "
            "16.00 GiB KV cache is needed"
        ),
        "KV cache too small for the length",
    ),
    (
        "vllm",
        (
            "The model's max seq len (8192) is larger than the maximum number of tokens that "
            "can be stored in KV cache (4096)"
        ),
        "KV cache too small for the length",
    ),
    (
        "vllm",
        "No available memory for the cache blocks. Try increasing",
        "no memory for the KV cache",
    ),
    ("vllm", "User-specified max_model_len (9999) is greater than the", "context too long"),
    (
        "sglang",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        "no memory for the KV cache",
    ),
    (
        "vllm",
        "huggingface_hub.errors.GatedRepoError: 403 Client Error",
        "gated model",
    ),
    ("vllm", "CUDA driver version is insufficient for CUDA runtime", "CUDA driver too old"),
    ("rehearsal", "port 18190 cannot be opened: Address already in use", "port in use"),
    ("rehearsal", "settings.json is not JSON: Expecting value", "settings refused"),
    ("rehearsal", "/usr/bin/python3: No module named flows", "runoff not installed there"),
    (
        "llama_server",
        "ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 313524224",
        "out of memory",
    ),
    (
        "llama_server",
        "allocating 14204.00 MiB on device 0: cudaMalloc failed: out of memory",
        "out of memory",
    ),
    (
        "llama_server",
        "ggml_cuda_init: CUDA driver version is insufficient for CUDA runtime version",
        "CUDA driver too old",
    ),
    (
        "llama_server",
        "llama_model_load_from_file_impl: failed to load model",
        "model not loaded",
    ),
    ("llama_server", "srv main: exiting due to model loading error", "start given up"),
    *(
        (name, line, error)
        for name in ("vllm", "vllm_cpu", "sglang")
        for line, error in (
            ("server.py: error: unrecognized arguments: --bogus", "unknown flag"),
            ("OSError: [Errno 98] Address already in use", "port in use"),
            ("huggingface_hub.errors.GatedRepoError: 403 Client Error", "gated model"),
            ("OSError: m does not appear to have a file named config.json", "model not found"),
        )
    ),
    *(
        (name, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "out of memory")
        for name in ("vllm", "sglang")
    ),
    *(
        (name, line, error)
        for name in ("vllm", "vllm_cpu")
        for line, error in (
            (
                "RuntimeError: Engine core initialization failed. See root cause above.",
                "engine failed to start",
            ),
            (
                "ValueError: To serve at least one request with the model's max seq len (8192)",
                "KV cache too small for the length",
            ),
            ("User-specified max_model_len (9999) is greater than the", "context too long"),
        )
    ),
    (
        "vllm",
        (
            "ValueError: Free memory on device cuda:0 (2.1/79.1 GiB) on startup is less than "
            "desired GPU memory utilization (0.9, 71.2 GiB)."
        ),
        "memory taken by others",
    ),
    (
        "vllm",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8",
        "device too old for the precision",
    ),
    (
        "vllm_cpu",
        (
            "ValueError: Available memory on node 0 (2.1/22.9 GiB) on startup is less than "
            "desired CPU memory utilization (0.9, 20.6 GiB)."
        ),
        "memory taken by others",
    ),
    (
        "vllm_cpu",
        (
            "ValueError: Available memory on node 0 (2.1/22.9 GiB) on kv cache allocation is "
            "less than requested memory for kv (4.0 GiB)."
        ),
        "no memory for the KV cache",
    ),
    (
        "vllm_cpu",
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate",
        "out of memory",
    ),
    (
        "vllm_cpu",
        (
            "WARNING [cpu.py:667] Failed to import from vllm._C: ImportError('libnuma.so.1: "
            "cannot open shared object file: No such file or directory')"
        ),
        "system library missing",
    ),
    (
        "vllm_cpu",
        "RuntimeError: operator torchvision::nms does not exist",
        "a package for another torch",
    ),
    ("sglang", "Exception: Capture cuda graph failed: CUDA error", "graph capture failed"),
    ("sglang", "CUDA driver version is insufficient for CUDA runtime", "CUDA driver too old"),
    ("sglang", "Scheduler hit an exception: Traceback (most recent call", "engine failed"),
]


@pytest.mark.parametrize(("name", "line", "error"), SEEN)
def test_a_line_of_an_engine_is_known_for_what_it_means(
    name: str, line: str, error: str
) -> None:
    failures = FOLDERS[name].launch.failures
    first = next(failure for failure in failures if re.search(failure.pattern, line))

    assert first.error == error
    assert first.means
    assert first.do


@pytest.mark.parametrize("name", ["llama_server", "rehearsal", "sglang", "vllm", "vllm_cpu"])
def test_every_failure_of_an_engine_that_was_run_or_read_has_a_line_of_its_own(
    name: str,
) -> None:
    shown = {error for runtime, _, error in SEEN if runtime == name}

    assert [one.error for one in FOLDERS[name].launch.failures if one.error not in shown] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("vllm", "WARNING [parallel.py:750] Address already in use. Retrying with a new port."),
        ("vllm", "INFO Port 29500 is already in use, trying port 29501"),
        ("vllm_cpu", "WARNING Failed to import from vllm._C_AVX2: ImportError('no AVX2')"),
        (
            "llama_server",
            "ggml_cuda_host_malloc: failed to allocate 16 MiB of pinned memory: out of memory",
        ),
    ],
)
def test_a_warning_with_which_an_engine_goes_on_is_no_failure(name: str, line: str) -> None:
    found = [one.error for one in FOLDERS[name].launch.failures if re.search(one.pattern, line)]

    assert found == []


LOADING = [
    (
        "llama_server",
        "weights",
        "srv    load_model: initializing, n_slots = 2, n_ctx_slot = 256",
    ),
    ("llama_server", "context", "0.00.009.741 I srv  llama_server: model loaded"),
    ("llama_server", "context", "0.00.014.980 I srv          init: model loaded"),
    ("llama_server", "listen", "I srv          init: listening on http://127.0.0.1:18183"),
    ("vllm", "process", "Initializing a V1 LLM engine (v0.33.0) with config: model='m'"),
    ("vllm", "process", "Initializing an LLM engine (v0.6.3) with config: model='m'"),
    ("vllm", "weights", "Model loading took 14.99 GiB memory and 3.2 seconds"),
    ("vllm", "weights", "Loading model weights took 14.9595 GB"),
    ("vllm", "compile and profile", "GPU KV cache size: 403,776 tokens"),
    ("vllm", "graph capture", "Graph capturing finished in 12 secs, took 0.50 GiB"),
    ("sglang", "memory pool", "Memory pool end. avail mem=9.80 GB"),
    ("sglang", "graph capture", "Capture cuda graph end. Time elapsed: 8.1 s."),
    ("sglang", "listen", "The server is fired up and ready to roll!"),
]


@pytest.mark.parametrize(("name", "phase", "line"), LOADING)
def test_a_line_of_a_start_ends_its_phase_and_is_no_failure(
    name: str, phase: str, line: str
) -> None:
    launch = FOLDERS[name].launch
    ended = [one.name for one in launch.phases if re.search(one.pattern, line)]

    assert ended == [phase]
    assert [one.error for one in launch.failures if re.search(one.pattern, line)] == []

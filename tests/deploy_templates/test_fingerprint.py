from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest, Mirrors, Variables
from deploy_templates.runtime_folder import load_runtime_folder

LLAMA = load_runtime_folder("llama_server")
VLLM = load_runtime_folder("vllm")
HERE = LaunchRequest(
    name="here",
    runtime="llama_server",
    version="b11434",
    mode="process",
    model="tiny",
    port=8080,
    device_class="cpu-x86",
    checkpoint=Checkpoint(kind="path", location="/models/tiny.gguf", sha256="0" * 64),
    variables=Variables(max_model_len=512, max_sequences=4),
)
CLOUD = LaunchRequest(
    name="B",
    runtime="vllm",
    version="0.33.0",
    mode="venv",
    model="org/model",
    port=8000,
    variables=Variables(weights="bfloat16"),
)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))


def fingerprint(request: LaunchRequest) -> str:
    folder = LLAMA if request.runtime == "llama_server" else VLLM
    return render(request, folder).fingerprint


@settings(max_examples=40, deadline=None)
@given(
    name=NAMES,
    port=st.integers(1024, 65535),
    folder=PATHS,
    program=PATHS,
    served=NAMES,
    index=PATHS,
    gib=st.integers(0, 500),
)
def test_names_and_places_do_not_change_it(
    *, name: str, port: int, folder: str, program: str, served: str, index: str, gib: int
) -> None:
    other = replace(
        HERE,
        name=name,
        port=port,
        served_model=served,
        checkpoint=replace(HERE.checkpoint, location=f"{folder}/other.gguf"),
        programs={"llama-server": program},
        mirrors=Mirrors(package_index=index, hub="https://hub.site"),
        offline=True,
        is_open=True,
        weight_bytes=gib * 2**30,
    )

    assert fingerprint(other) == fingerprint(HERE)


@settings(max_examples=40, deadline=None)
@given(mirror=NAMES, devices=st.lists(st.integers(0, 15), min_size=2, max_size=2, unique=True))
def test_which_devices_and_mirrors_serve_does_not_change_it(
    mirror: str, devices: list[int]
) -> None:
    base = replace(CLOUD, devices=(0, 1))
    other = replace(
        base,
        devices=tuple(devices),
        mirrors=Mirrors(hub=f"https://{mirror}.site", registry=f"{mirror}.site"),
    )

    assert fingerprint(other) == fingerprint(base)


VALUES = {
    "max_sequences": st.integers(1, 512),
    "token_budget": st.integers(64, 65536),
    "seed": st.integers(0, 2**31 - 1),
    "memory_utilisation": st.floats(0.1, 0.97).map(lambda share: round(share, 3)),
    "max_model_len": st.integers(256, 131072),
    "tensor_parallel": st.sampled_from([1, 2, 4, 8]),
    "prefix_caching": st.booleans(),
    "kv_cache": st.sampled_from(["bfloat16", "fp8"]),
    "stream_interval": st.integers(1, 20),
    "eager": st.booleans(),
}


@settings(max_examples=60, deadline=None)
@given(
    asked=st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3, unique=True),
    data=st.data(),
)
def test_two_launches_share_it_only_if_they_ask_the_same(
    asked: list[str], data: st.DataObject
) -> None:
    one, other = (
        Variables(weights="bfloat16", **{name: data.draw(VALUES[name]) for name in asked})
        for _ in range(2)
    )
    same = fingerprint(replace(CLOUD, variables=one)) == fingerprint(
        replace(CLOUD, variables=other)
    )

    assert same == (one == other)


def test_all_that_can_move_a_number_changes_it() -> None:
    changes = {
        "version": "0.27.1",
        "mode": "container",
        "model": "org/other",
        "checkpoint": Checkpoint(kind="path", location="/m", sha256="1" * 64),
        "cpus": (0, 1),
        "devices": (0,),
        "extra_args": ("--max-logprobs", "5"),
        "extra_env": {"NCCL_ALGO": "Ring"},
    }
    seen = {fingerprint(replace(CLOUD, **{field: value})) for field, value in changes.items()}
    image = replace(CLOUD, mode="container")
    seen |= {fingerprint(CLOUD), fingerprint(replace(image, image="site/own:1"))}
    seen |= {fingerprint(replace(image, device_class="rocm"))}

    assert len(seen) == len(changes) + 3


def test_the_content_of_a_checkpoint_is_its_digest_not_its_folder() -> None:
    other = replace(HERE.checkpoint, sha256="1" * 64)

    assert fingerprint(replace(HERE, checkpoint=other)) != fingerprint(HERE)


def test_every_field_of_a_request_is_known_to_move_numbers_or_not_to() -> None:
    moves = {
        "runtime", "version", "mode", "model", "device_class", "checkpoint", "variables",
        "cpus", "devices", "variant", "image", "extra_args", "extra_env",
    }  # fmt: skip
    stays = {
        "name", "port", "served_model", "weight_bytes", "mirrors", "offline", "is_open",
        "programs",
    }  # fmt: skip

    assert {field.name for field in fields(LaunchRequest)} == moves | stays

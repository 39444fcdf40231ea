import json
import math
import os
import signal
import subprocess
import sys

import pytest

from catalog.architecture import parameters, precision, read_config, weight_bytes
from catalog.architecture.checkpoint import gguf, read_checkpoint, safetensors
from deploy_templates.request import Checkpoint
from flows.checkpoint import make_dummy
from flows.errors import InfrastructureError, UsageError

# The bytes of a small dummy in each format. Where a change of ours moves them on purpose,
# METHOD_VERSION in flows/checkpoint/recipe.py goes up as well: kept dummies are then made anew.
GOLDEN = {
    "hf": "0c6cb21437ad3e436451130bb2134d1eb40729fb682d86b0ef5e3d5e8f0ce545",
    "gguf-f16": "a29ac7ce4880c91f3f9ce3f7a95fd5a6709e2099ed82db1f11f1c075ffb21afb",
    "gguf-bf16": "451c999438c4dc7ecf9e9df009d4493bbbe0eb0c1bd27ba6ce2f9257d3a7676a",
    "gguf-q8_0": "b37082144c311be7c90b09a1a7c00b96ec3a7c781ed57d5386ad1e9ec2f82ff0",
}


@pytest.mark.parametrize("form", GOLDEN)
def test_the_same_model_format_and_seed_give_the_same_bytes(small, tmp_path, form):
    made = make_dummy(small(), tmp_path, format=form, seed=0)

    assert made.sha256 == GOLDEN[form]


def test_another_seed_gives_another_dummy_beside_the_first(small, tmp_path):
    first = make_dummy(small(), tmp_path, format="gguf-q8_0", seed=0)
    second = make_dummy(small(), tmp_path, format="gguf-q8_0", seed=1)

    assert first.path.is_file()
    assert first.path != second.path
    assert first.sha256 != second.sha256


def values(path):
    """Values of each tensor as a safetensors header states them."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {
        name: math.prod(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


@pytest.mark.parametrize("name", ["tiny-llama-19m", "tiny-llama-110m"])
def test_a_folders_headers_hold_the_catalogs_parameters_and_bytes(name, catalog, made):
    folder = made(name, "hf")
    arch = read_config(catalog.model(name).config)

    assert sum(values(folder / "model.safetensors").values()) == parameters(arch)
    held = safetensors.file_tensors(folder / "model.safetensors")
    assert sum(held.values()) == weight_bytes(arch, precision("bfloat16"))
    assert read_config(json.loads((folder / "config.json").read_text())) == arch


@pytest.mark.parametrize("name", ["tiny-llama-19m", "tiny-llama-110m"])
@pytest.mark.parametrize("form", ["gguf-f16", "gguf-bf16", "gguf-q8_0"])
def test_a_gguf_files_tensors_take_the_bytes_of_the_arithmetic(name, form, catalog, made):
    arch = read_config(catalog.model(name).config)
    held = gguf.file_tensors(made(name, form))

    assert sum(held.values()) == weight_bytes(arch, precision(form.replace("-", "_")))


def test_experts_and_norms_are_told_apart_in_both_formats(small, made):
    model = small("mixtral")
    folder, file = (read_checkpoint(made(model, form)) for form in ("hf", "gguf-f16"))

    assert folder.experts == file.experts == 2 * 3 * 4 * 3 * 256 * 512
    assert 2 * folder.norms == file.norms


@pytest.fixture
def kept(small, tmp_path):
    """A dummy that was made before, and the call that makes it."""

    def again(**changes):
        return make_dummy(small(), tmp_path, **{"format": "gguf-q8_0", **changes})

    return again(), again


def test_a_second_call_makes_nothing(kept):
    first, again = kept
    written_ns = first.path.stat().st_mtime_ns

    second = again()

    assert (first.made, second.made) == (True, False)
    assert (second.path, second.sha256, second.bytes) == (first.path, first.sha256, first.bytes)
    assert first.path.stat().st_mtime_ns == written_ns


def test_one_flipped_bit_makes_it_anew(kept):
    first, again = kept
    text = bytearray(first.path.read_bytes())
    text[-100] ^= 1
    first.path.write_bytes(text)

    second = again()

    assert second.made
    assert second.sha256 == first.sha256


def test_a_half_written_one_is_made_anew(kept):
    first, again = kept
    os.truncate(first.path, first.bytes // 2)

    assert again().made
    assert again().made is False


def test_progress_ends_at_the_weights_bytes(small, tmp_path):
    told = []
    make_dummy(small(), tmp_path, format="hf", progress=lambda *bytes_: told.append(bytes_))
    total = told[-1][1]

    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert total == weight_bytes(read_config(small().config), precision("bfloat16"))


def test_a_launch_request_is_told_that_it_is_a_dummy(kept):
    first, _ = kept

    assert first.requested == Checkpoint(
        kind="dummy", location=str(first.path), sha256=first.sha256
    )


def test_the_folder_and_the_files_say_that_they_are_dummies(small, made):
    folder = made(small(), "hf")
    manifest = json.loads((folder / "runoff-dummy.json").read_text())

    assert manifest["dummy"] is True
    assert manifest["assumed"]["rope_theta"] == 10_000
    assert b"dummy weights of small llama" in (folder / "model.safetensors").read_bytes()[:300]
    assert b"dummy weights of small llama" in made(small(), "gguf-f16").read_bytes()[:300]


def test_what_no_disk_holds_is_refused_before_anything_is_written(small, tmp_path):
    model = small(
        hidden_size=65_536, intermediate_size=10**6, num_attention_heads=1024,
        num_hidden_layers=1000,
    )  # fmt: skip

    with pytest.raises(InfrastructureError, match="GB are needed"):
        make_dummy(model, tmp_path, format="hf")

    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_a_model_without_a_gguf_layout_is_refused_before_anything_is_written(small, tmp_path):
    with pytest.raises(UsageError, match="no GGUF is written for gemma2"):
        make_dummy(small("gemma2"), tmp_path, format="gguf-f16")

    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


MAKE = """
import sys
from pathlib import Path
from catalog.load import load_catalog
from flows.checkpoint import make_dummy
model = load_catalog().model("tiny-llama-19m")
print("starts", flush=True)
made = make_dummy(model, Path(sys.argv[1]), format="gguf-f16", progress=lambda *_: WAIT)
print(made.made, made.sha256)
"""


def start(folder, wait="None"):
    words = [sys.executable, "-c", MAKE.replace("WAIT", wait), str(folder)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_a_killed_process_leaves_nothing_that_passes_for_whole(tmp_path):
    process = start(tmp_path, wait="__import__('time').sleep(0.01)")
    assert process.stdout.readline() == "starts\n"
    while not any(tmp_path.glob(".*.partial/model.gguf")):
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert any(tmp_path.glob(".*.partial"))

    printed, _ = start(tmp_path).communicate()

    assert "True" in printed
    assert not any(tmp_path.glob(".*.partial"))


def test_of_two_processes_one_makes_it_and_both_have_it(tmp_path):
    both = [start(tmp_path), start(tmp_path)]
    said = [process.communicate()[0].split() for process in both]

    assert sorted(made for _, made, _ in said) == ["False", "True"]
    assert len({sha256 for _, _, sha256 in said}) == 1


LARGE = """
import resource, sys
from pathlib import Path
from catalog.load import load_catalog
from flows.checkpoint import make_dummy
model = load_catalog().model("tiny-llama-110m")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = make_dummy(model, Path(sys.argv[1]), format="hf")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, made.bytes // 1024)
"""


def test_memory_does_not_grow_with_the_model(tmp_path):
    words = [sys.executable, "-c", LARGE, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    grown_kib, made_kib = map(int, done.stdout.split())

    assert made_kib > 200_000
    assert grown_kib < 64_000

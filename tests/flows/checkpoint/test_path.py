import json
import shutil

import pytest

from catalog.architecture import precision, read_config, weight_bytes
from catalog.errors import CatalogError
from catalog.schema.model import Model
from flows.checkpoint import path_checkpoint
from flows.errors import UsageError


@pytest.fixture
def folder(small, made, tmp_path):
    """A folder of the small llama that a test may damage."""
    return shutil.copytree(made(small(), "hf"), tmp_path / "model")


def test_a_folder_that_fits_the_catalog_is_served_as_it_is(small, folder):
    found = path_checkpoint(folder, small(), "bfloat16")
    expected = weight_bytes(read_config(small().config), precision("bfloat16"))

    assert (found.path, found.kind) == (folder, "hf")
    assert found.loaded_bytes == found.expected_bytes == found.held.total == expected
    assert found.requested.kind == "path"
    assert found.requested.location == str(folder)


@pytest.mark.parametrize("form", ["gguf-f16", "gguf-q8_0"])
def test_a_gguf_file_is_found_by_its_name_or_in_its_folder(small, made, form):
    file = made(small(), form)
    weights = form.replace("-", "_")

    for path in (file, file.parent):
        found = path_checkpoint(path, small(), weights)
        assert (found.path, found.kind) == (file, "gguf")
        assert found.loaded_bytes == found.expected_bytes


def test_a_tied_head_that_the_file_holds_twice_is_counted_once(small, folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": True}))

    found = path_checkpoint(folder, small(tie_word_embeddings=True), "bfloat16")

    assert found.loaded_bytes == found.expected_bytes == found.held.total - found.held.head


def test_another_precision_than_the_files_is_refused_with_both_sizes(small, folder):
    with pytest.raises(UsageError, match=r"take 5,639,680 bytes; the 2,819,840 parameters"):
        path_checkpoint(folder, small(), "fp8")


def test_a_gguf_of_another_model_is_refused_by_its_bytes(small, made):
    with pytest.raises(UsageError, match="parameters of small llama in gguf_f16 take"):
        path_checkpoint(made(small(), "gguf-f16"), small(num_hidden_layers=4), "gguf_f16")


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"hidden_size": 512}, "width 256, not 512"),
        ({"num_hidden_layers": 4}, "3 layers, not 4"),
        ({"num_key_value_heads": 1}, "kv_heads 2, not 1"),
        ({"intermediate_size": 1024}, "its layers are of other shapes"),
        (
            {"vocab_size": 4096, "head_dim": 32},
            "vocabulary 2048, not 4096; head_dim 64, not 32",
        ),
    ],
)
def test_a_config_of_another_shape_is_refused_with_the_difference(small, folder, changes, seen):
    with pytest.raises(UsageError, match=f"it is not small llama: .*{seen}"):
        path_checkpoint(folder, small(**changes), "bfloat16")


def test_a_longer_context_is_no_other_shape(small, folder):
    found = path_checkpoint(folder, small(max_position_embeddings=4096), "bfloat16")

    assert found.loaded_bytes == found.expected_bytes


def test_a_model_that_the_catalog_cannot_count_is_served_and_said_to_be_unknown(folder):
    odd = Model(name="odd", source="a test's own", config={"model_type": "mamba9"})

    found = path_checkpoint(folder, odd, "bfloat16")

    assert "'mamba9' is not modelled" in found.unknown
    assert found.expected_bytes is None
    assert found.held.total > 0


def test_a_config_of_an_unknown_kind_is_refused(small, folder):
    (folder / "config.json").write_text('{"model_type": "mamba9"}')

    with pytest.raises(UsageError, match="'mamba9' is not modelled"):
        path_checkpoint(folder, small(), "bfloat16")


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000])
def test_a_config_that_is_no_json_object_is_refused(small, folder, text):
    (folder / "config.json").write_text(text)

    with pytest.raises(UsageError, match=r"config\.json: it holds no JSON object"):
        path_checkpoint(folder, small(), "bfloat16")


@pytest.mark.parametrize(
    ("lost", "seen"),
    [
        ("config.json", "it has no config.json"),
        ("tokenizer.json", "it has no tokenizer.json or tokenizer.model"),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused(small, folder, lost, seen):
    (folder / lost).unlink()

    with pytest.raises(UsageError, match=seen):
        path_checkpoint(folder, small(), "bfloat16")


def test_missing_weights_are_the_readers_error(small, folder):
    (folder / "model.safetensors").unlink()

    with pytest.raises(CatalogError, match="no safetensors or GGUF file"):
        path_checkpoint(folder, small(), "bfloat16")


def test_truncated_weights_are_the_readers_error(small, folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])

    with pytest.raises(CatalogError, match="Download the file again"):
        path_checkpoint(folder, small(), "bfloat16")


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("missing", "no such file or folder"),
        ("model/model.safetensors", "neither a folder nor a GGUF file"),
    ],
)
def test_what_is_no_checkpoint_is_refused(small, folder, name, seen):
    with pytest.raises(UsageError, match=seen):
        path_checkpoint(folder.parent / name, small(), "bfloat16")


def test_a_file_that_cannot_be_read_is_refused_with_the_systems_reason(small, folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("/proc/self/mem")  # reading its start fails

    with pytest.raises(UsageError, match="it cannot be read: Input/output error"):
        path_checkpoint(folder, small(), "bfloat16")

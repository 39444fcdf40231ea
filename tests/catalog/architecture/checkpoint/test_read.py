import json

import pytest

from catalog.architecture.checkpoint import CheckpointBytes, read_checkpoint
from catalog.errors import CatalogError

TENSORS = {
    "model.embed_tokens.weight": ("BF16", [10, 4]),
    "model.layers.0.mlp.experts.0.up_proj.weight": ("F8_E4M3", [6]),
    "model.layers.0.self_attn.q_proj.weight": ("BF16", [3]),
    "model.layers.1.self_attn.q_proj.weight": ("BF16", [7]),
    "model.norm.weight": ("F32", [1]),
    "lm_head.weight": ("BF16", [10, 4]),
}


def test_bytes_are_summed_by_class(write_safetensors):
    seen = read_checkpoint(write_safetensors(TENSORS), layers=1)

    assert seen == CheckpointBytes(embedding=80, head=80, norms=4, experts=6, extra=14, other=6)
    assert seen.total == 190


def test_a_folder_with_an_index_is_read_through_it(write_safetensors, tmp_path):
    write_safetensors(TENSORS, "model-00001-of-00001.safetensors")
    write_safetensors(TENSORS, "consolidated.safetensors")
    weight_map = dict.fromkeys(TENSORS, "model-00001-of-00001.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))

    assert read_checkpoint(tmp_path).total == read_checkpoint(index).total == 190


def test_a_folder_with_one_file_is_that_file(write_gguf, tmp_path):
    path = write_gguf({"token_embd.weight": ("F16", [8])})

    assert read_checkpoint(tmp_path) == read_checkpoint(path) == CheckpointBytes(embedding=16)


def test_a_split_gguf_is_summed(write_gguf, tmp_path):
    write_gguf({"token_embd.weight": ("F16", [8])}, "m-00001-of-00002.gguf")
    second = write_gguf({"output.weight": ("F16", [4])}, "m-00002-of-00002.gguf")

    expected = CheckpointBytes(embedding=16, head=8)

    assert read_checkpoint(tmp_path) == read_checkpoint(second) == expected


def test_a_folder_with_several_files_and_no_index_asks_for_one(write_safetensors, tmp_path):
    write_safetensors(TENSORS, "a.safetensors")
    write_safetensors(TENSORS, "b.safetensors")

    with pytest.raises(CatalogError, match=r"several checkpoints: a\.safetensors, b\.safet"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("gone.safetensors", "no such file"),
        ("model.bin", "neither safetensors nor GGUF"),
        ("empty", "no safetensors or GGUF file"),
    ],
)
def test_what_is_no_checkpoint_is_said(tmp_path, name, seen):
    (tmp_path / "model.bin").touch()
    (tmp_path / "empty").mkdir()

    with pytest.raises(CatalogError, match=seen):
        read_checkpoint(tmp_path / name)

import json
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.architecture.checkpoint.safetensors import file_tensors, indexed_tensors
from catalog.errors import CatalogError

TENSORS = {"a.weight": ("BF16", [3, 5]), "b.weight": ("F8_E4M3", [7]), "c": ("F32", [])}


def test_tensor_bytes_come_from_the_header_alone(write_safetensors):
    assert file_tensors(write_safetensors(TENSORS)) == {"a.weight": 30, "b.weight": 7, "c": 4}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 2**63),
        struct.pack("<Q", 100) + b"{}",
        struct.pack("<Q", 9 * 2**20) + b" " * 9 * 2**20,
    ],
)
def test_an_absurd_header_length_is_refused(tmp_path, text):
    path = tmp_path / "model.safetensors"
    path.write_bytes(text)

    with pytest.raises(CatalogError, match="It is not a whole safetensors file"):
        file_tensors(path)


@pytest.mark.parametrize("text", [b"{", b"\xff\xff", b"[" * 200_000, b"3", b'{"a": 1e'])
def test_a_header_that_is_no_json_object_is_refused(tmp_path, text):
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text)

    with pytest.raises(CatalogError, match=r"its header is not (JSON|a JSON object)"):
        file_tensors(path)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        [],
        {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": ["1"], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [0], "data_offsets": [4, 0]},
        {"dtype": "F32", "shape": [1], "data_offsets": [0]},
        {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]},
    ],
)
def test_a_tensor_that_contradicts_itself_is_refused(tmp_path, entry):
    text = json.dumps({"t": entry}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))

    with pytest.raises(CatalogError, match="tensor 't' contradicts itself"):
        file_tensors(path)


def test_a_truncated_file_is_refused(write_safetensors):
    path = write_safetensors(TENSORS)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)

    with pytest.raises(CatalogError, match="tensors of 41 bytes, data of 40"):
        file_tensors(path)


def test_a_type_newer_than_the_table_is_taken_by_its_offsets(tmp_path):
    entry = {"dtype": "F4", "shape": [16], "data_offsets": [0, 8]}
    text = json.dumps({"t": entry}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))

    assert file_tensors(path) == {"t": 8}


def write_index(folder, weight_map):
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return path


def test_shards_sum_over_the_index(write_safetensors, tmp_path):
    write_safetensors({"a": ("BF16", [4])}, "model-00001-of-00002.safetensors")
    write_safetensors({"b": ("BF16", [2])}, "model-00002-of-00002.safetensors")
    index = write_index(
        tmp_path,
        {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"},
    )

    assert indexed_tensors(index) == {"a": 8, "b": 4}


@pytest.mark.parametrize("shard", ["gone.safetensors", "../x.safetensors", "/etc/passwd"])
def test_a_shard_that_is_not_beside_the_index_is_refused(tmp_path, shard):
    with pytest.raises(CatalogError, match="no shard"):
        indexed_tensors(write_index(tmp_path, {"a": shard}))


def test_a_tensor_that_no_shard_holds_is_named(write_safetensors, tmp_path):
    write_safetensors({"a": ("BF16", [4])}, "one.safetensors")
    index = write_index(tmp_path, {"a": "one.safetensors", "z": "one.safetensors"})

    with pytest.raises(CatalogError, match="1 tensors in no shard, as 'z'"):
        indexed_tensors(index)


@pytest.mark.parametrize("text", ["{}", '{"weight_map": []}', '{"weight_map": {}}'])
def test_an_index_without_a_map_is_refused(tmp_path, text):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(text)

    with pytest.raises(CatalogError, match="no weight_map"):
        indexed_tensors(path)


def test_a_huge_index_is_refused_unread(tmp_path):
    path = tmp_path / "model.safetensors.index.json"
    with path.open("wb") as file:
        file.truncate(2**35)

    with pytest.raises(CatalogError, match="Not an index"):
        indexed_tensors(path)


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_break_the_reader(tmp_path, text):
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text)

    try:
        file_tensors(path)
    except CatalogError:
        return
    assert isinstance(json.loads(text), dict)  # bytes that happen to be a header, such as {}

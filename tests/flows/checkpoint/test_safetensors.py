import json

from catalog.architecture.checkpoint.safetensors import file_tensors, indexed_tensors
from flows.checkpoint.safetensors import header, index_json, shards
from flows.checkpoint.tensors import Tensor
from flows.checkpoint.values import STORAGES, stored

BF16 = STORAGES["BF16"]
TENSORS = [
    Tensor(name="a.weight", shape=(64, 32), deviation=0.02),
    Tensor(name="b.weight", shape=(32,), constant=1.0),
    Tensor(name="c.weight", shape=(64, 64), deviation=0.02),
    Tensor(name="d.weight", shape=(8, 32), deviation=0.02),
]


def write(folder, files):
    for shard in files:
        parts = [header(shard.tensors, BF16, {"format": "pt"})]
        for tensor in shard.tensors:
            parts += stored(tensor, BF16, 0)
        (folder / shard.name).write_bytes(b"".join(parts))


def test_a_file_reads_back_with_every_tensor_in_its_place(tmp_path):
    (only,) = shards(TENSORS, BF16)
    write(tmp_path, [only])

    held = file_tensors(tmp_path / "model.safetensors")

    assert held == {tensor.name: 2 * tensor.values for tensor in TENSORS}


def test_data_begins_at_a_multiple_of_eight():
    text = header(TENSORS, BF16, {"format": "pt"})

    assert len(text) % 8 == 0
    assert int.from_bytes(text[:8], "little") == len(text) - 8
    assert json.loads(text[8:])["__metadata__"] == {"format": "pt"}


def test_shards_stay_under_the_limit_and_their_index_finds_every_tensor(tmp_path):
    files = shards(TENSORS, BF16, limit=5000)
    write(tmp_path, files)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps(index_json(files, BF16)))

    assert [[each.name[0] for each in file.tensors] for file in files] == [
        ["a", "b"],
        ["c"],
        ["d"],
    ]
    assert files[0].name == "model-00001-of-00003.safetensors"
    assert sum(indexed_tensors(index).values()) == 2 * sum(each.values for each in TENSORS)
    assert index_json(files, BF16)["metadata"] == {"total_size": 12_864}

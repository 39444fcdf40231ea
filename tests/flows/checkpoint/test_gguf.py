import pytest

from catalog.architecture.checkpoint.gguf import file_tensors
from flows.checkpoint.gguf import Placed, header, padding
from flows.checkpoint.values import STORAGES

METADATA = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.rope.freq_base": 1e4,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.tokens": ["a", "é", ""],
    "tokenizer.ggml.token_type": [1, 3, 1],
    "tokenizer.ggml.merges": [],
}
TENSORS = [
    Placed(name="token_embd.weight", dimensions=(32, 3), storage=STORAGES["Q8_0"], values=96),
    Placed(name="output_norm.weight", dimensions=(32,), storage=STORAGES["F32"], values=32),
]


def test_a_file_reads_back_with_every_tensor_in_its_place(tmp_path):
    path = tmp_path / "model.gguf"
    data = b"".join(bytes(each.size + padding(each.size)) for each in TENSORS)
    path.write_bytes(header(METADATA, TENSORS) + data)

    assert file_tensors(path) == {"token_embd.weight": 102, "output_norm.weight": 128}


def test_everything_begins_at_a_multiple_of_thirty_two():
    assert len(header(METADATA, TENSORS)) % 32 == 0
    assert [padding(size) for size in (0, 1, 32, 102)] == [0, 31, 0, 26]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, b"\x07\x00\x00\x00\x01"),
        (7, b"\x04\x00\x00\x00\x07\x00\x00\x00"),
        (0.5, b"\x06\x00\x00\x00\x00\x00\x00\x3f"),
        ("é", b"\x08\x00\x00\x00" + (2).to_bytes(8, "little") + "é".encode()),
        ([1, 2], b"\x09\x00\x00\x00\x05\x00\x00\x00" + (2).to_bytes(8, "little")),
        (["a"], b"\x09\x00\x00\x00\x08\x00\x00\x00" + (1).to_bytes(8, "little")),
    ],
)
def test_each_kind_of_value_is_written_with_its_type(value, written):
    assert written in header({"k": value}, [])

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.architecture.checkpoint.gguf import file_tensors, split_files
from catalog.errors import CatalogError

TENSORS = {
    "token_embd.weight": ("Q4_K", [256, 10]),
    "blk.0.attn_norm.weight": ("F32", [256]),
    "output.weight": ("Q6_K", [256, 10]),
}
HELD = {"token_embd.weight": 1440, "blk.0.attn_norm.weight": 1024, "output.weight": 2100}


@pytest.mark.parametrize("version", [2, 3])
def test_tensor_bytes_come_from_the_header_alone(write_gguf, version):
    assert file_tensors(write_gguf(TENSORS, version=version)) == HELD


def test_a_truncated_file_is_refused(write_gguf):
    path = write_gguf(TENSORS)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 2000)

    with pytest.raises(CatalogError, match=r"'output\.weight' ends past the end of the file"):
        file_tensors(path)


def header(count, pairs, rest=b"", version=3):
    return b"GGUF" + struct.pack("<IQQ", version, count, pairs) + rest


def info(dimensions, kind):
    rest = struct.pack("<Q", 1) + b"t" + struct.pack("<I", len(dimensions))
    rest += b"".join(struct.pack("<Q", length) for length in dimensions)
    return rest + struct.pack("<IQ", kind, 0)


def pair(kind, rest):
    return struct.pack("<Q", 1) + b"k" + struct.pack("<I", kind) + rest


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (b"", "runs past the end of the file"),
        (b"GGML" + bytes(40), "no GGUF magic"),
        (header(0, 0, version=1), "GGUF version 1"),
        (header(0, 0, version=0x03000000), "GGUF version 50331648"),
        (header(2**60, 0), "tensors, more than 100000"),
        (header(0, 2**60), "metadata pairs, more than 10000"),
        (header(1, 0), "runs past the end of the file"),
        (header(1, 0, info([256], 99)), "unknown ggml type 99"),
        (header(1, 0, info([255], 12)), "255 values is not in blocks"),
        (header(1, 0, info([1] * 9, 0)), "of 9 dimensions"),
        (header(1, 0, info([2**63, 2**63], 0)), "ends past the end of the file"),
        (header(0, 1, pair(77, b"")), "a metadata value of type 77"),
        (header(0, 1, pair(9, struct.pack("<IQ", 9, 1))), "a metadata value of type 9"),
        (header(0, 1, pair(9, struct.pack("<IQ", 8, 2**60))), "strings, more than 1500000"),
        (header(0, 1, pair(9, struct.pack("<IQ", 4, 2**60))), "runs past the end"),
        (header(0, 1, pair(8, struct.pack("<Q", 2**63))), "runs past the end"),
    ],
)
def test_a_damaged_header_is_refused_with_what_was_seen(tmp_path, text, seen):
    path = tmp_path / "model.gguf"
    path.write_bytes(text)

    with pytest.raises(CatalogError, match=seen):
        file_tensors(path)


def test_a_header_longer_than_any_real_one_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    with path.open("wb") as file:
        file.write(header(0, 1, pair(8, struct.pack("<Q", 2**33))))
        file.truncate(2**34)

    with pytest.raises(CatalogError, match="past the end of its first 32 MiB"):
        file_tensors(path)


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_break_the_reader(tmp_path, text):
    path = tmp_path / "model.gguf"
    path.write_bytes(header(3, 3, text))

    with pytest.raises(CatalogError):
        file_tensors(path)


def test_a_split_set_is_found_from_any_of_its_files(write_gguf):
    first = write_gguf(TENSORS, "m-00001-of-00002.gguf")
    second = write_gguf(TENSORS, "m-00002-of-00002.gguf")

    assert split_files(first) == split_files(second) == [first, second]


def test_a_split_set_with_a_hole_names_the_missing_file(write_gguf):
    first = write_gguf(TENSORS, "m-00001-of-00003.gguf")

    with pytest.raises(CatalogError, match=r"m-00002-of-00003\.gguf is missing"):
        split_files(first)

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.checkpoint import values
from flows.checkpoint.tensors import Tensor
from flows.checkpoint.values import STORAGES, chunks, interleaved, scale, stored

MATRIX = Tensor(name="w", shape=(96, 64), deviation=0.02)


def whole(tensor, seed=0, **options):
    return np.concatenate(list(chunks(tensor, seed, **options)))


def read(storage, text):
    """Stored values as 32-bit floats, by each type's own definition."""
    if storage == "F32":
        return np.frombuffer(text, "<f4")
    if storage == "F16":
        return np.frombuffer(text, "<f2").astype(np.float32)
    if storage == "BF16":
        return (np.frombuffer(text, "<u2").astype("<u4") << 16).view("<f4")
    blocks = np.frombuffer(text, np.uint8).reshape(-1, 34)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return (blocks[:, 2:].copy().view(np.int8) * scales).reshape(-1)


@given(st.floats(1e-4, 0.5), st.integers(0, 2**31))
def test_every_type_holds_the_same_values_to_the_last_bit(deviation, seed):
    tensor = Tensor(name="w", shape=(4, 32), deviation=deviation)

    held = [read(name, b"".join(stored(tensor, each, seed))) for name, each in STORAGES.items()]

    for other in held[1:]:
        np.testing.assert_array_equal(other, held[0])
    assert np.unique(held[0]).size > 1


@pytest.mark.parametrize("name", STORAGES)
def test_a_tensor_takes_the_bytes_that_its_type_says(name):
    written = b"".join(stored(MATRIX, STORAGES[name], 0))

    assert len(written) == STORAGES[name].size(MATRIX.values)


def test_the_same_seed_and_name_give_the_same_bytes_on_every_machine():
    digest = hashlib.sha256(whole(MATRIX, 7).tobytes()).hexdigest()

    assert digest == "1a14c9be615c02c16221c2efedbb4c849c57a9becf53637f0bfd9f68834fc611"


def test_another_seed_or_another_name_gives_other_bytes():
    renamed = Tensor(name="v", shape=MATRIX.shape, deviation=0.02)

    assert (whole(MATRIX) != whole(MATRIX, 1)).any()
    assert (whole(MATRIX) != whole(renamed)).any()


@given(st.integers(1, 40), st.sampled_from([1, 8, 64]), st.sampled_from([1, 2, 16]))
def test_how_much_is_drawn_at_once_changes_nothing(rows, row, together):
    tensor = Tensor(name="w", shape=(rows * together, row), deviation=0.02)
    at_once = whole(tensor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "CHUNK_VALUES", 64)
        pieces = list(chunks(tensor, 0, rows_together=together))

    np.testing.assert_array_equal(np.concatenate(pieces), at_once)
    assert all(len(piece) % together == 0 for piece in pieces)


def test_codes_are_even_about_zero_and_spread_as_asked():
    tensor = Tensor(name="w", shape=(1024, 1024), deviation=0.02)
    codes = whole(tensor).astype(float)
    held = codes * scale(0.02)

    assert codes.min() == -127
    assert codes.max() == 127
    assert abs(held.mean()) < 4 * held.std() / 1024
    assert held.std() == pytest.approx(0.02, rel=math.sqrt(2) - 1)


@given(st.floats(1e-4, 1))
def test_a_scale_is_a_power_of_two(deviation):
    assert math.frexp(scale(deviation))[0] == 0.5


def test_quiet_rows_of_a_table_are_zero_and_no_others():
    table = Tensor(name="w", shape=(64, 32), deviation=0.02, table=True)
    quiet = (0, 5, 63)

    codes = whole(table, quiet=quiet)

    assert [row for row in range(64) if not codes[row].any()] == list(quiet)
    assert whole(MATRIX, quiet=quiet)[list(quiet)].any(axis=1).all()


def test_interleaving_puts_the_halves_that_rotate_together_side_by_side():
    heads, dim = 3, 8
    rows = np.arange(heads * dim, dtype=np.int8).reshape(-1, 1)

    placed = interleaved(rows, dim).reshape(heads, dim)

    for head in range(heads):
        for i in range(dim // 2):
            first, second = placed[head, 2 * i], placed[head, 2 * i + 1]
            assert (first, second) == (head * dim + i, head * dim + dim // 2 + i)


def test_a_bias_is_reordered_as_the_rows_of_its_matrix():
    bias = Tensor(name="b", shape=(16,), deviation=0.1)
    plain = read("F32", b"".join(stored(bias, STORAGES["F32"], 0)))

    placed = read("F32", b"".join(stored(bias, STORAGES["F32"], 0, interleave=8)))

    np.testing.assert_array_equal(placed[:4], plain[[0, 4, 1, 5]])


def test_a_constant_is_stored_as_it_is():
    norm = Tensor(name="n", shape=(64,), constant=15.0)

    assert set(read("BF16", b"".join(stored(norm, STORAGES["BF16"], 0)))) == {15.0}

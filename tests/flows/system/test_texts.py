from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.system.texts import Texts, cache_bytes, cpu_list


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("0", (0,)),
        ("", ()),
        (None, ()),
        ("4-5,0-1", (0, 1, 4, 5)),
    ],
)
def test_the_kernels_lists_of_cpus_are_read(text, cpus):
    assert cpu_list(text) == cpus


@given(st.frozensets(st.integers(0, 300), max_size=40))
def test_any_set_of_cpus_written_one_by_one_is_read_back(cpus):
    assert cpu_list(",".join(map(str, cpus))) == tuple(sorted(cpus))


@pytest.mark.parametrize(
    ("text", "size"),
    [("48K", 49152), ("32M", 33554432), ("512", 512), ("", None), (None, None), ("?K", None)],
)
def test_sizes_of_caches_are_bytes(text, size):
    assert cache_bytes(text) == size


def test_a_file_that_is_not_there_is_nothing(tmp_path):
    (tmp_path / "empty").write_text("\n")

    texts = Texts(tmp_path)

    assert (texts.read("none"), texts.read("empty"), texts.number("none")) == (None, None, None)
    assert list(texts.folders("none", "cpu")) == []

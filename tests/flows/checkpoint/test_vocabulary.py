import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from flows.checkpoint.vocabulary import byte_texts, vocabulary
from flows.errors import UsageError


def test_bytes_are_written_as_byte_level_bpe_writes_them():
    assert set(byte_texts()) == set(ByteLevel.alphabet())
    assert byte_texts()[ord("A")] == "A"
    assert byte_texts()[ord(" ")] == "Ġ"
    assert byte_texts()[ord("\n")] == "Ċ"


@given(st.integers(300, 3000), st.data())
def test_special_ids_stand_where_the_config_wants_them(size, data):
    ids = st.integers(0, size - 1)
    bos, eos, other = data.draw(st.lists(ids, min_size=3, max_size=3, unique=True))

    words = vocabulary({"bos_token_id": bos, "eos_token_id": [eos, other]}, size)

    assert (words.bos, words.eos) == (bos, eos)
    assert (words.tokens[bos], words.tokens[eos]) == ("<s>", "</s>")
    assert set(words.special) == {bos, eos, other}
    assert len(set(words.tokens)) == len(words.tokens) == size
    assert {bos, eos, other} <= set(words.quiet)


def test_begin_and_end_may_be_one_token():
    words = vocabulary({"bos_token_id": 0, "eos_token_id": 0}, 300)

    assert words.special == {0: "</s>"}
    assert len(words.merges) == 300 - 256 - 1


def test_ids_that_a_config_leaves_out_are_one_and_two():
    words = vocabulary({"bos_token_id": None}, 300)

    assert words.special == {1: "<s>", 2: "</s>"}


def test_special_tokens_and_unprintable_bytes_are_quiet():
    words = vocabulary({}, 300)

    assert len(words.quiet) == 2 + 256 - 95
    assert words.tokens.index("a") not in words.quiet
    assert words.tokens.index("Ċ") in words.quiet


@pytest.mark.parametrize(
    ("config", "size", "seen"),
    [
        ({}, 257, "257 ids do not hold 256 bytes and the special ids"),
        ({"bos_token_id": 128_000}, 32_000, r"the special ids \[2, 128000\]"),
        ({"eos_token_id": -1}, 32_000, r"the special ids \[-1, 1\]"),
        ({"eos_token_id": []}, 32_000, r"eos_token_id is \[\]"),
        ({"eos_token_id": "</s>"}, 32_000, "eos_token_id is '</s>'"),
    ],
)
def test_a_vocabulary_that_cannot_be_is_refused(config, size, seen):
    with pytest.raises(UsageError, match=seen):
        vocabulary(config, size)

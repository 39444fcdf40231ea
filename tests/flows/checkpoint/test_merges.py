import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from flows.checkpoint.merges import SPACE, encoded, merges
from flows.checkpoint.tokenizer import tokenizer_json
from flows.checkpoint.vocabulary import vocabulary
from flows.load.words import WORDS


def tokenizer(size):
    return Tokenizer.from_str(json.dumps(tokenizer_json(vocabulary({}, size))))


@pytest.mark.parametrize("size", [258, 1000, 5000, 32_000, 49_159])
def test_the_text_of_every_token_is_encoded_to_that_token_alone(size):
    quiet = set(vocabulary({}, size).quiet)
    loud = [token for token in range(size) if token not in quiet]
    tokens = tokenizer(size)

    texts = tokens.decode_batch([[token] for token in loud])

    assert [found.ids for found in tokens.encode_batch(texts)] == [[token] for token in loud]
    assert len(set(texts)) == len(loud)
    assert all(texts)


def test_a_text_prompt_of_n_words_is_n_tokens():
    tokens = tokenizer(2048)

    assert len(tokens.encode(" ".join(WORDS)).ids) == len(WORDS)


FIRST = tuple(islice(merges(), 30_000))
RANKS = {merge: rank for rank, merge in enumerate(FIRST)}
TOKENS = tokenizer(256 + 2 + len(FIRST))


def test_no_two_merges_make_the_same_token():
    assert len({left + right for left, right in FIRST}) == len(FIRST)


@given(st.text("abelmnoty", min_size=1, max_size=12), st.booleans())
def test_merging_by_hand_gives_what_the_tokenizers_library_gives(word, spaced):
    text = f" {word}" if spaced else word

    assert encoded(text.replace(" ", SPACE), RANKS) == TOKENS.encode(text).tokens

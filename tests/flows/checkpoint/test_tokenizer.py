import json

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from flows.checkpoint.tokenizer import gguf_tokenizer, tokenizer_config, tokenizer_json
from flows.checkpoint.vocabulary import vocabulary

WORDS = vocabulary({}, 5000)
TOKENIZER = Tokenizer.from_str(json.dumps(tokenizer_json(WORDS)))


@given(st.text(max_size=60).filter(lambda text: "<s>" not in text and "</s>" not in text))
def test_any_text_comes_back_from_its_tokens(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text).ids) == text


def test_nothing_is_added_at_either_end():
    assert TOKENIZER.encode("able").tokens == ["able"]


def test_special_tokens_are_left_out_of_decoded_text():
    assert TOKENIZER.decode([WORDS.bos, WORDS.tokens.index("able"), WORDS.eos]) == "able"


def test_the_tokenizer_has_as_many_ids_as_the_model():
    assert TOKENIZER.get_vocab_size() == 5000


def test_gguf_lists_the_same_tokens_and_merges_in_the_same_order():
    gguf = gguf_tokenizer(WORDS)
    model = tokenizer_json(WORDS)["model"]

    assert {token: i for i, token in enumerate(gguf["tokenizer.ggml.tokens"])} == model["vocab"]
    assert gguf["tokenizer.ggml.merges"] == model["merges"]


def test_gguf_marks_the_special_tokens_as_control():
    kinds = gguf_tokenizer(WORDS)["tokenizer.ggml.token_type"]

    assert [token for token, kind in enumerate(kinds) if kind == 3] == [WORDS.bos, WORDS.eos]


def test_both_render_a_conversation_by_the_same_template():
    settings = tokenizer_config(WORDS, 512)

    assert settings["chat_template"] == gguf_tokenizer(WORDS)["tokenizer.chat_template"]
    assert settings["model_max_length"] == 512

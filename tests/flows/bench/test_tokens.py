"""Token counts by the user's own tokenizer file."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from flows.bench.tokens import token_count
from flows.errors import UsageError


@pytest.fixture
def model(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_a_tokenizer_is_given_as_its_file_or_as_the_models_folder(model):
    for path in (model, model / "tokenizer.json"):
        assert token_count(path)("a b a never") == 4


def test_without_a_tokenizer_there_is_no_count():
    assert token_count(None) is None


@pytest.mark.parametrize("text", ["", "not json", '{"vocab": []}'])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path, text):
    (tmp_path / "tokenizer.json").write_text(text)

    with pytest.raises(UsageError, match="is no tokenizer"):
        token_count(tmp_path)

"""The same tokenizer twice: as Hugging Face reads it and as GGUF metadata.

Both are the byte-level BPE of GPT-2: its rule for splitting text, no token added at either end.
"""

from __future__ import annotations

from typing import Any, Final

from flows.checkpoint.vocabulary import Vocabulary

GGUF_MODEL: Final = "gpt2"
GGUF_SPLITTING: Final = "gpt-2"
_NORMAL, _CONTROL = 1, 3
_BYTE_LEVEL: Final = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
CHAT_TEMPLATE: Final = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)


def tokenizer_json(words: Vocabulary) -> dict[str, Any]:
    """The content of tokenizer.json."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added(token, words.special[token]) for token in sorted(words.special)
        ],
        "normalizer": None,
        "pre_tokenizer": _BYTE_LEVEL,
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
        "model": _bpe(words),
    }


def tokenizer_config(words: Vocabulary, max_context: int) -> dict[str, Any]:
    """The content of tokenizer_config.json."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "add_eos_token": False,
        "bos_token": words.special[words.bos],
        "eos_token": words.special[words.eos],
        "pad_token": words.special[words.eos],
        "unk_token": words.special[words.eos],
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "model_max_length": max_context,
    }


def gguf_tokenizer(words: Vocabulary) -> dict[str, Any]:
    """The ``tokenizer.`` metadata of a GGUF file."""
    kinds = [_CONTROL if i in words.special else _NORMAL for i in range(len(words.tokens))]
    return {
        "tokenizer.ggml.model": GGUF_MODEL,
        "tokenizer.ggml.pre": GGUF_SPLITTING,
        "tokenizer.ggml.tokens": list(words.tokens),
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": [" ".join(pair) for pair in words.merges],
        "tokenizer.ggml.bos_token_id": words.bos,
        "tokenizer.ggml.eos_token_id": words.eos,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def _added(token: int, content: str) -> dict[str, Any]:
    return {
        "id": token,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _bpe(words: Vocabulary) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {token: index for index, token in enumerate(words.tokens)},
        "merges": [" ".join(pair) for pair in words.merges],
    }

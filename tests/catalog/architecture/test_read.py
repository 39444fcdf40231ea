import sys

import pytest

from catalog.architecture import UnknownArchitecture, known_families, read_config


def refused(config):
    with pytest.raises(UnknownArchitecture) as caught:
        read_config(config)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


def test_families_are_found_by_scanning():
    assert {"llama", "mixtral", "deepseek_v3", "gpt_oss", "nemotron_h"} <= set(known_families())


def test_an_unknown_model_type_is_named_with_the_known_ones():
    assert "model_type 'mamba9' is not modelled (known: deepseek_v2," in refused(
        {"model_type": "mamba9"}
    )


@pytest.mark.parametrize("nothing", [{}, {"model_type": None}, {"model_type": 3}])
def test_a_config_without_model_type_is_unknown(nothing):
    assert refused(nothing) == "config.json has no model_type"


@pytest.mark.parametrize(
    "field", ["hidden_size", "num_hidden_layers", "vocab_size", "max_position_embeddings"]
)
def test_a_missing_field_is_never_guessed(config, field):
    assert refused(config("llama-3-8b") | {field: None}) == f"config.json has no {field}"


@pytest.mark.parametrize("odd", ["4096", 4096.0, -1, 0, True, 10**12, [4096]])
def test_an_odd_size_is_unknown(config, odd):
    reason = refused(config("llama-3-8b") | {"hidden_size": odd})

    assert reason.startswith(f"config.json: hidden_size is {odd!r}, not an integer from 1")


def test_a_billion_layers_are_refused_at_once(config):
    assert "not an integer from 1 to 1000" in refused(
        config("llama-3-8b") | {"num_hidden_layers": 10**9}
    )


@pytest.mark.parametrize(
    ("slug", "change", "part"),
    [
        ("llama-3-8b", {"vision_config": {"depth": 27}}, "give the text part alone"),
        ("llama-3-8b", {"architectures": ["LlamaModel"]}, "not a causal language model"),
        ("llama-3-8b", {"architectures": "Llama"}, "not a list of strings"),
        ("llama-3-8b", {"block_configs": [{"a": 1}]}, "not modelled"),
        ("llama-3-8b", {"layer_types": ["sliding_attention"] * 32}, "sliding_window None"),
        ("llama-3-8b", {"layer_types": ["full_attention"]}, "1 entries for 32 layers"),
        ("llama-3-8b", {"tie_word_embeddings": "no"}, "not true or false"),
        ("llama-3-8b", {"num_key_value_heads": 5}, "do not share 5 KV heads evenly"),
        ("qwen2.5-7b", {"use_sliding_window": True}, "engines disagree"),
        ("qwen3-30b-a3b", {"mlp_only_layers": ["a"]}, "not a list of integers"),
        ("qwen3-30b-a3b", {"shared_expert_intermediate_size": 9}, "no shared expert"),
        ("phi-4", {"lm_head_bias": True}, "no biases"),
        ("gpt-oss-20b", {"attention_bias": False}, "without attention biases"),
        ("gpt-oss-20b", {"layer_types": ["chunked_attention"] * 24}, "'chunked_attention'"),
        ("gemma-3-1b", {"use_bidirectional_attention": True}, "not modelled"),
        ("deepseek-v3", {"index_topk": 2048}, "attention is not modelled"),
        ("qwen3-next-80b-a3b", {"attn_output_gate": False}, "attn_output_gate"),
        ("qwen3-next-80b-a3b", {"layer_types": ["mamba"] * 48}, "'mamba'"),
        ("qwen3.5-9b", {"mamba_ssm_dtype": "int3"}, "mamba_ssm_dtype is 'int3'"),
        ("qwen3.5-9b", {"num_experts": 8}, "experts in a dense model"),
        ("nemotron-h-56b", {"hybrid_override_pattern": "M*"}, "does not name every layer"),
        ("nemotron-h-56b", {"hybrid_override_pattern": "E" * 118}, "blocks ['E']"),
        ("nemotron-h-56b", {"mlp_hidden_act": "silu"}, "squared-ReLU"),
        ("nemotron-h-56b", {"mamba_ssm_cache_dtype": "x"}, "mamba_ssm_cache_dtype"),
    ],
)
def test_an_option_that_is_not_modelled_is_unknown_with_its_reason(config, slug, change, part):
    assert part in refused(config(slug) | change)


def test_mistral_without_a_stated_window_is_unknown(config):
    stated = config("mistral-7b-v0.3")
    del stated["sliding_window"]

    assert "null and 4096 are both in use" in refused(stated)


def test_keys_of_no_consequence_are_ignored(config):
    plain = config("llama-3-8b")

    assert read_config(plain | {"rope_theta": 5, "made_up": {}}) == read_config(plain)


def test_importing_the_arithmetic_imports_neither_numpy_nor_pydantic():
    import subprocess

    program = (
        "import sys, catalog.architecture as a; a.known_families();"
        "print(sorted({'numpy', 'pydantic', 'yaml', 'pandas'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"

import pytest

from catalog.architecture import mtp_parameters, parameters, read_config


def kinds(arch):
    return [layer.mixer.kind if layer.mixer else "none" for layer in arch.layers]


@pytest.mark.parametrize(
    ("sizes", "count"),
    [((18, 2048, 16_384, 8, 1), 2_506_172_416), ((28, 3072, 24_576, 16, 16), 8_537_680_896)],
)
def test_first_gemma_has_two_norms_and_no_window(sizes, count):
    names = (
        "num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads",
        "num_key_value_heads",
    )  # fmt: skip
    rest = {"head_dim": 256, "vocab_size": 256_000, "max_position_embeddings": 8192}

    arch = read_config(dict(zip(names, sizes, strict=True)) | rest | {"model_type": "gemma"})

    assert parameters(arch) == count
    assert "sliding" not in kinds(arch)


@pytest.mark.parametrize(
    ("slug", "count"),
    [
        ("gemma-3-4b", 3_880_099_328),
        ("gemma-3-12b", 11_765_788_416),
        ("gemma-3-27b", 27_009_002_240),
    ],
)
def test_third_gemma_text_with_262144_rows_is_the_published_text_count(config, slug, count):
    assert parameters(read_config(config(slug) | {"vocab_size": 262_144})) == count


def test_third_gemma_slides_in_five_of_six_layers(model):
    assert kinds(model("gemma-3-1b"))[:7] == ["sliding"] * 5 + ["gqa", "sliding"]


def test_second_gemma_slides_in_even_layers(model):
    assert kinds(model("gemma-2-9b"))[:3] == ["sliding", "gqa", "sliding"]


def test_gpt_oss_alternates_without_stated_layer_types(config, model):
    stated = config("gpt-oss-120b")
    del stated["layer_types"]

    assert read_config(stated) == model("gpt-oss-120b")


def test_mistral_slides_where_its_window_is_stated(model):
    assert set(kinds(model("mistral-7b-v0.1"))) == {"sliding"}
    assert set(kinds(model("mistral-7b-v0.3"))) == {"gqa"}


def test_llama_2_has_as_many_kv_heads_as_query_heads(model):
    assert set(kinds(model("llama-2-7b"))) == {"mha"}


def test_qwen_hybrids_look_back_in_every_fourth_layer(model):
    assert kinds(model("qwen3-next-80b-a3b"))[:8] == (["linear"] * 3 + ["gqa"]) * 2


def test_qwen_next_with_one_prediction_layer_is_the_published_count(config):
    arch = read_config(config("qwen3-next-80b-a3b") | {"mtp_num_hidden_layers": 1})

    assert parameters(arch) + mtp_parameters(arch) == 81_324_862_720


def test_nemotron_blocks_are_mixer_or_mlp(model):
    layers = model("nemotron-h-56b").layers

    assert sum(layer.mixer is None for layer in layers) == 54
    assert kinds(model("nemotron-h-56b")).count("mamba") == 54
    assert all((layer.mixer is None) != (layer.mlp is None) for layer in layers)


def test_deepseek_starts_with_three_dense_layers(model):
    mlps = [layer.mlp.kind for layer in model("deepseek-v3").layers]

    assert mlps == ["dense"] * 3 + ["moe"] * 58
    assert set(kinds(model("deepseek-v3"))) == {"mla"}


def test_dense_layers_of_a_sparse_qwen_are_where_its_config_says(config):
    sparse = config("qwen3-30b-a3b") | {"decoder_sparse_step": 2, "mlp_only_layers": [1]}

    mlps = [layer.mlp.kind for layer in read_config(sparse).layers]

    assert mlps[:4] == ["dense", "dense", "dense", "moe"]


@pytest.mark.parametrize(
    ("change", "added"),
    [
        ({"attention_bias": True}, 32 * (4096 + 2 * 1024 + 4096)),
        ({"mlp_bias": True}, 32 * (2 * 14_336 + 4096)),
    ],
)
def test_llama_biases_are_counted_where_asked_for(config, llama, change, added):
    assert parameters(read_config(config("llama-3-8b") | change)) - parameters(llama) == added


def test_qwen3_biases_come_with_the_output_bias(config, model):
    biased = read_config(config("qwen3-8b") | {"attention_bias": True})

    assert parameters(biased) - parameters(model("qwen3-8b")) == 36 * (4096 + 2048 + 4096)

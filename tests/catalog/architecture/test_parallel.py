import pytest

from catalog.architecture import all_reduces_per_step, heads_divide


@pytest.mark.parametrize("k", [1, 2, 4, 8, 16, 32])
def test_llama_divides_among_powers_of_two(llama, k):
    assert heads_divide(llama, k) is None


@pytest.mark.parametrize(
    ("slug", "k", "reason"),
    [
        ("llama-3-8b", 3, "32 query heads do not divide by 3"),
        ("qwen2.5-7b", 8, "28 query heads do not divide by 8"),
        ("phi-4", 4, "10 KV heads neither divide by 4 nor repeat evenly"),
        ("qwen3.5-35b-a3b", 32, "16 linear-attention key heads do not divide by 32"),
        ("nemotron-h-56b", 3, "256 Mamba heads do not divide by 3"),
        ("deepseek-v3", 6, "128 query heads do not divide by 6"),
        ("smollm2-135m", 9, "feed-forward width 1536 does not divide by 9"),
    ],
)
def test_uneven_degrees_are_named(model, slug, k, reason):
    assert heads_divide(model(slug), k) == reason


def test_a_block_that_is_mixer_or_mlp_reduces_once(model):
    assert all_reduces_per_step(model("nemotron-h-56b")) == 118
    assert all_reduces_per_step(model("qwen3-30b-a3b")) == 96

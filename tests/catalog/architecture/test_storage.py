import pytest

from catalog.architecture import (
    kv_precision,
    kv_precisions,
    precision,
    weight_precisions,
)
from catalog.errors import CatalogError


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("bf16", "bfloat16"), ("FP16", "float16"), ("awq", "awq_int4"),
        ("Q4_K_M", "gguf_q4_k_m"), ("fp8-block", "fp8_block"), (" nvfp4 ", "nvfp4"),
    ],
)  # fmt: skip
def test_aliases_and_spellings_name_one_scheme(alias, name):
    assert precision(alias).name == name


def test_an_unknown_weight_scheme_suggests_the_nearest():
    with pytest.raises(CatalogError, match=r"unknown name 'fp8_blok'.*'fp8_block'"):
        precision("fp8_blok")


def test_an_unknown_cache_scheme_lists_the_known_ones():
    with pytest.raises(CatalogError, match=r"unknown name 'zzz'\. Known: bfloat16, float16"):
        kv_precision("zzz")


@pytest.mark.parametrize("name", weight_precisions())
def test_no_scheme_claims_less_than_its_floor(name):
    scheme = precision(name)

    assert 4 <= scheme.floor_bits <= scheme.linear_bits <= 16
    assert scheme.exact == (scheme.floor_bits == scheme.linear_bits)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("bfloat16", ("bf16",)), ("awq_int4", ("int8", "bf16")), ("fp8", ("fp8", "bf16")),
        ("int8", ("int8", "bf16")), ("mxfp4", ("fp4", "fp8", "bf16")),
        ("gguf_q4_k_m", ("int8", "bf16")), ("gguf_f16", ("bf16",)),
    ],
)  # fmt: skip
def test_each_scheme_names_the_arithmetic_that_may_serve_it(name, columns):
    assert precision(name).compute_types == columns


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("bfloat16", 256), ("fp8", 128), ("fp8_per_token_head", 132), ("int8", 132),
        ("nvfp4", 72), ("q8_0", 136), ("q4_0", 72),
    ],
)  # fmt: skip
def test_bytes_of_one_vector_of_128_values(name, held):
    assert kv_precision(name).vector_bytes(128) == held


def test_a_sparse_latent_page_is_656_bytes_per_token():
    assert kv_precision("fp8_ds_mla").latent_bytes(512, 64) == 656
    assert "fp8_ds_mla" in kv_precisions()

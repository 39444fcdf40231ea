import pytest

from catalog.schema.model import Model
from flows.checkpoint.families import family_of
from flows.errors import UsageError


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("openai/gpt-oss-20b", "gpt_oss: it is published in MXFP4"),
        ("deepseek-ai/DeepSeek-V3", "deepseek_v3: it is published in blocks of FP8"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2: it is published in blocks of FP8"),
        ("nvidia/Nemotron-H-56B-Base-8K", "nemotron_h: its tensor names are not modelled"),
        ("Qwen/Qwen3.5-9B", "qwen3_5_text: its tensor names are not modelled"),
    ],
)
def test_a_model_whose_layout_is_not_certain_is_refused_by_name_with_the_reason(
    catalog, name, reason
):
    with pytest.raises(UsageError, match=f"dummy checkpoint of {name}: {reason}") as refused:
        family_of(catalog.model(name))

    assert "dummy_weights: true" in refused.value.do


def test_a_model_that_the_catalog_cannot_count_is_refused_with_its_reason():
    model = Model(name="odd", source="a test's own", config={"model_type": "mamba9"})

    with pytest.raises(UsageError, match=r"odd: model_type 'mamba9' is not modelled"):
        family_of(model)

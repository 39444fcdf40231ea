from pathlib import Path

import pytest
import yaml

from catalog.architecture import (
    kv_bytes_per_token,
    kv_precision,
    mtp_parameters,
    parameters,
    precision,
    read_config,
)

MODELS = sorted((Path(__file__).parents[3] / "catalog" / "models").glob("*.yaml"))
ENTRIES = {path.stem: yaml.safe_load(path.read_text()) for path in MODELS}
KEYS = {
    "name", "aliases", "checkpoints", "reference_precision", "source", "date", "verified",
    "config",
}  # fmt: skip


@pytest.mark.parametrize("slug", ENTRIES)
def test_each_model_is_known_and_has_its_source(slug):
    entry = ENTRIES[slug]

    arch = read_config(entry["config"])

    assert entry.keys() - {"parameters_published"} == KEYS
    assert entry["source"]
    assert arch.max_context == entry["config"]["max_position_embeddings"]


@pytest.mark.parametrize(
    "slug", [slug for slug, entry in ENTRIES.items() if "parameters_published" in entry]
)
def test_computed_parameters_are_the_published_count(slug):
    entry = ENTRIES[slug]

    assert parameters(read_config(entry["config"])) == entry["parameters_published"]


@pytest.mark.parametrize("slug", ENTRIES)
def test_every_precision_named_by_a_model_is_known(slug):
    entry = ENTRIES[slug]
    named = [entry["reference_precision"], *(c["precision"] for c in entry["checkpoints"])]

    assert [precision(name).name for name in named] == named


def test_names_and_aliases_are_each_used_once():
    names = [
        name.lower()
        for slug, entry in ENTRIES.items()
        for name in {slug, entry["name"], *entry["aliases"]}
    ]

    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(
    ("slug", "count", "kv"),
    [
        ("llama-3-8b", 8_030_261_248, 131_072),
        ("llama-3.1-70b", 70_553_706_496, 327_680),
        ("llama-3.1-405b", 405_853_388_800, 516_096),
        ("llama-3.2-1b", 1_235_814_400, 32_768),
        ("qwen2.5-7b", 7_615_616_512, 57_344),
        ("qwen3-30b-a3b", 30_532_122_624, 98_304),
        ("mixtral-8x7b", 46_702_792_704, 131_072),
        ("deepseek-v3", 671_026_419_200, 70_272),
        ("gpt-oss-20b", 20_914_757_184, 49_152),
        ("gemma-2-9b", 9_241_705_984, 344_064),
        ("mistral-7b-v0.1", 7_241_732_096, 131_072),
        ("mistral-7b-v0.3", 7_248_023_552, 131_072),
        ("tiny-llama-110m", 109_529_856, 36_864),
    ],
)
def test_golden_parameters_and_kv_bytes_per_token(slug, count, kv):
    arch = read_config(ENTRIES[slug]["config"])

    assert parameters(arch) == count
    assert kv_bytes_per_token(arch, kv_precision("bfloat16")) == kv


def test_the_smallest_model_has_nineteen_million_parameters():
    assert round(parameters(read_config(ENTRIES["tiny-llama-19m"]["config"])) / 1e6) == 19


@pytest.mark.parametrize(
    ("slug", "vision", "published"),
    [
        ("qwen3.5-9b", 456_010_480, 9_653_104_368),
        ("qwen3.5-27b", 460_730_096, 27_781_427_952),
        ("qwen3.5-35b-a3b", 446_571_248, 35_951_822_704),
        ("gemma-3-4b", 419_816_304, 4_300_079_472),
        ("gemma-3-12b", 421_290_864, 12_187_325_040),
        ("gemma-3-27b", 423_060_336, 27_432_406_640),
    ],
)
def test_text_and_prediction_layers_and_vision_tower_make_the_hub_count(
    slug, vision, published
):
    arch = read_config(ENTRIES[slug]["config"])

    assert parameters(arch) + mtp_parameters(arch) + vision == published

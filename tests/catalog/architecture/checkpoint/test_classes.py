import pytest

from catalog.architecture.checkpoint.classes import tensor_class


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.embed_tokens.weight", "embedding"),
        ("model.embed_tokens.weight_scale", "embedding"),
        ("token_embd.weight", "embedding"),
        ("backbone.embeddings.weight", "embedding"),
        ("lm_head.weight", "head"),
        ("output.weight", "head"),
        ("output_norm.weight", "norms"),
        ("model.norm.weight", "norms"),
        ("model.layers.3.input_layernorm.weight", "norms"),
        ("model.layers.3.self_attn.q_norm.weight", "norms"),
        ("blk.3.attn_norm.weight", "norms"),
        ("model.layers.3.mlp.experts.7.down_proj.weight_scale_inv", "experts"),
        ("model.layers.3.mlp.experts.gate_up_proj_blocks", "experts"),
        ("blk.3.ffn_gate_exps.weight", "experts"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "other"),
        ("model.layers.3.mlp.gate.weight", "other"),
        ("blk.3.ffn_gate_inp.weight", "other"),
        ("model.layers.3.self_attn.o_proj.qweight", "other"),
        ("model.layers.61.mlp.experts.7.down_proj.weight", "extra"),
        ("model.layers.61.embed_tokens.weight", "extra"),
        ("mtp.layers.0.mlp.experts.7.down_proj.weight", "extra"),
        ("vision_tower.encoder.layers.0.q_proj.weight", "extra"),
        ("model.visual.blocks.0.attn.qkv.weight", "extra"),
        ("v.blk.0.attn_q.weight", "extra"),
    ],
)
def test_tensor_names_of_both_formats_fall_into_their_class(name, expected):
    assert tensor_class(name, 61) == expected


def test_without_a_number_of_layers_none_is_beyond():
    assert tensor_class("model.layers.61.mlp.up_proj.weight", None) == "other"

"""DeepSeek V2 and V3 (R1, Kimi K2): latent attention, routed and shared experts."""

from __future__ import annotations

from catalog.architecture.config import Fields
from catalog.architecture.dense import Heads, decoder, read_dense
from catalog.architecture.mixers import Latent
from catalog.architecture.mlps import Experts, Mlp
from catalog.architecture.model import Architecture, Layer
from catalog.architecture.tally import Tally

MODEL_TYPES = ("deepseek_v2", "deepseek_v3", "kimi_k2")


def read(fields: Fields) -> Architecture:
    """Multi-head latent attention; the first layers are dense, the rest route to experts."""
    fields.refuse(
        ("attention_bias", "index_topk", "index_n_heads"), "its attention is not modelled"
    )
    mixer = Latent(
        width=fields.size("hidden_size"),
        heads=fields.size("num_attention_heads"),
        query_rank=fields.size_or_none("q_lora_rank"),
        kv_rank=fields.size("kv_lora_rank"),
        rope_dim=fields.size("qk_rope_head_dim"),
        nope_dim=fields.size("qk_nope_head_dim"),
        value_dim=fields.size("v_head_dim"),
    )
    heads = Heads(query=mixer.heads, kv=1, dim=mixer.nope_dim + mixer.rope_dim)
    experts = _experts(fields)
    mixers = [mixer] * fields.layers()
    mtp = _mtp(fields, Layer(mixer=mixer, mlp=experts, norms=2 * mixer.width))
    return decoder(fields, "deepseek", heads, mixers, _mlps(fields, experts), mtp=mtp)


def _experts(fields: Fields) -> Experts:
    hidden = fields.size("moe_intermediate_size")
    return Experts(
        width=fields.size("hidden_size"),
        experts=fields.size("n_routed_experts"),
        top_k=fields.size("num_experts_per_tok"),
        hidden=hidden,
        shared_hidden=hidden * fields.count("n_shared_experts"),
        router_bias=fields.values["model_type"] != "deepseek_v2",
    )


def _mlps(fields: Fields, experts: Experts) -> list[Mlp]:
    dense_layers = fields.count("first_k_dense_replace")
    step = fields.size("moe_layer_freq", 1)
    return [
        read_dense(fields) if index < dense_layers or index % step else experts
        for index in range(fields.layers())
    ]


def _mtp(fields: Fields, layer: Layer) -> Tally:
    """Each predicted token has a layer, a projection of two streams and tables of its own."""
    count = fields.count("num_nextn_predict_layers")
    width = fields.size("hidden_size")
    table = fields.size("vocab_size") * width
    own = Tally(linear=2 * width**2, norms=3 * width, embedding=table, head=table)
    return (layer.tally() + own) * count

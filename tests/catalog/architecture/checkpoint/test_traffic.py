import pytest

from catalog.architecture import parameters, read_bytes_per_step, weight_bytes
from catalog.architecture.checkpoint import (
    CheckpointBytes,
    checkpoint_read_bytes,
    checkpoint_weight_bytes,
)


def held(arch, *, head=True):
    """A 16-bit checkpoint of the model, tallied as its header would be."""
    whole = arch.whole
    return CheckpointBytes(
        embedding=2 * whole.embedding,
        head=2 * whole.embedding if head else 0,
        norms=2 * whole.norms,
        experts=2 * whole.experts,
        other=2 * (whole.linear + whole.routers + whole.vectors),
        extra=1000,
    )


@pytest.mark.parametrize("slug", ["llama-3-8b", "qwen3-30b-a3b"])
@pytest.mark.parametrize("mode", ["bound", "prediction", "lesson"])
def test_a_16_bit_header_agrees_with_the_arithmetic(model, bf16, slug, mode):
    arch = model(slug)

    read = checkpoint_read_bytes(arch, held(arch), 16, mode)

    assert abs(read - read_bytes_per_step(arch, bf16, 16, mode)) <= 1
    assert checkpoint_weight_bytes(arch, held(arch)) == weight_bytes(arch, bf16)


@pytest.mark.parametrize("stored_twice", [True, False])
def test_a_tied_table_is_held_and_read_once(model, bf16, stored_twice):
    arch = model("llama-3.2-1b")
    checkpoint = held(arch, head=stored_twice)

    assert checkpoint_weight_bytes(arch, checkpoint) == 2 * parameters(arch)
    assert checkpoint_read_bytes(arch, checkpoint, 1, "bound") == 2 * parameters(arch)


def test_ranks_share_a_checkpoint_evenly(model):
    arch = model("llama-3-8b")

    each = checkpoint_weight_bytes(arch, held(arch), 8)

    assert each * 8 == checkpoint_weight_bytes(arch, held(arch))

import json
import struct

import pytest

GGUF_TYPES = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_K": (12, 256, 144),
    "Q6_K": (14, 256, 210),
}
BYTES = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1}


def product(shape):
    total = 1
    for length in shape:
        total *= length
    return total


@pytest.fixture
def write_safetensors(tmp_path):
    def write(tensors, name="model.safetensors"):
        """``tensors``: name to (dtype, shape); the data itself is a hole in the file."""
        header, at = {"__metadata__": {"format": "pt"}}, 0
        for tensor, (dtype, shape) in tensors.items():
            end = at + product(shape) * BYTES[dtype]
            header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
            at = end
        text = json.dumps(header).encode()
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + at)
        return path

    return write


def gguf_string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


@pytest.fixture
def write_gguf(tmp_path):
    def write(tensors, name="model.gguf", version=3):
        """``tensors``: name to (type, shape), after metadata of each kind."""
        pairs = [
            gguf_string("general.alignment") + struct.pack("<II", 4, 64),
            gguf_string("general.name") + struct.pack("<I", 8) + gguf_string("a model"),
            gguf_string("tokenizer.tokens")
            + struct.pack("<IIQ", 9, 8, 2)
            + gguf_string("a")
            + gguf_string("bb"),
            gguf_string("tokenizer.scores") + struct.pack("<IIQ3f", 9, 6, 3, 0, 1, 2),
            gguf_string("rope") + struct.pack("<If", 6, 1e4),
        ]
        infos, at = b"", 0
        for tensor, (kind, shape) in tensors.items():
            number, block, held = GGUF_TYPES[kind]
            infos += gguf_string(tensor) + struct.pack("<I", len(shape))
            infos += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", number, at)
            at += -(-product(shape) // block * held // 64) * 64
        text = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
        text += b"".join(pairs) + infos
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(text)
            file.truncate(-(-len(text) // 64) * 64 + at)
        return path

    return write

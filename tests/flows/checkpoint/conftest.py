"""Small models of each family, and the engines that load their dummies for real."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from catalog.load import load_catalog
from catalog.schema.model import Model
from flows.checkpoint import families as layouts
from flows.checkpoint import make_dummy

ROOT = Path(__file__).parents[3]
LAUNCHER = ROOT / "deploy_templates/runtimes/llama_server/xllamacpp_server.py"

SMALL = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_hidden_layers": 3,
    "vocab_size": 2048,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
}
TIED = {"tie_word_embeddings": True}
MOE = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128}
FAMILIES = {
    "llama": {},
    "llama with biases": {"model_type": "llama", "attention_bias": True, "mlp_bias": True},
    "mistral": {"sliding_window": None},
    "mixtral": {"sliding_window": None, "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2": {},
    "qwen3": TIED,
    "qwen3_moe": MOE,
    "granite": TIED,
    "phi3": {},
    "gemma": TIED,
    "gemma2": {**TIED, "sliding_window": 64},
    "gemma3_text": {**TIED, "sliding_window": 64},
}
IN_GGUF = ("llama", "llama with biases", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe")


@pytest.fixture(scope="session")
def catalog():
    return load_catalog()


@pytest.fixture(scope="session")
def small():
    """A model of a few layers: a family's name, and config fields to change."""

    def model(family="llama", **changes):
        config = {**SMALL, "model_type": family, **FAMILIES[family], **changes}
        return Model(name=f"small {family}", source="a test's own", config=config)

    return model


@pytest.fixture(scope="session")
def families(small):
    """A small model of every family that a dummy can stand for."""
    return [small(family) for family in FAMILIES]


@pytest.fixture(scope="session")
def in_gguf(small):
    """A small model of every family that is written as GGUF."""
    return [small(family) for family in IN_GGUF]


@pytest.fixture(scope="session")
def dummies(tmp_path_factory):
    """A folder that keeps the dummies of all tests of this process."""
    return tmp_path_factory.mktemp("dummies")


@pytest.fixture
def made(catalog, dummies, tmp_path, monkeypatch):
    """Path of a dummy; ``unpermuted`` is a planted fault: a GGUF whose queries and keys stand
    as in the Hugging Face folder."""

    def make(model, form):
        if isinstance(model, str):
            model = catalog.model(model)
        if form != "unpermuted":
            return make_dummy(model, dummies, format=form).path
        plain = dataclasses.replace(layouts.FAMILIES["llama"], interleaved=False)
        with monkeypatch.context() as patch:
            patch.setattr(layouts, "FAMILIES", {"llama": plain})
            return make_dummy(model, tmp_path / "faulty", format="gguf-f16").path

    return make


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


class LlamaServer:
    """A running llama.cpp server; greedy answers to prompts of token ids."""

    def __init__(self, url):
        self.url = url

    def first(self, prompt):
        """The greedy first token and its log probability."""
        body = {"prompt": prompt, "n_predict": 1, "temperature": 0, "n_probs": 1}
        best = ask(f"{self.url}/completion", body)["completion_probabilities"][0]
        return best["id"], best["logprob"]

    def greedy(self, prompt, tokens):
        """Text and token ids of each chunk of a streamed greedy answer."""
        body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "stream": True}
        body |= {"return_tokens": True, "ignore_eos": True}
        request = urllib.request.Request(f"{self.url}/completion", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            lines = [line for line in answer if line.startswith(b"data: ")]
        chunks = [json.loads(line.removeprefix(b"data: ")) for line in lines]
        return [(chunk["content"], chunk["tokens"]) for chunk in chunks if not chunk["stop"]]

    def tokens(self, text):
        return ask(f"{self.url}/tokenize", {"content": text})["tokens"]

    def text(self, tokens):
        return ask(f"{self.url}/detokenize", {"tokens": tokens})["content"]


@pytest.fixture
def llama_cpp(tmp_path):
    """Serves a GGUF file with xllamacpp in a process of its own while the block runs."""
    pytest.importorskip("xllamacpp")

    @contextmanager
    def serve(path):
        words = [sys.executable, str(LAUNCHER), "--model", str(path), "--port", "0"]
        words += ["--ctx-size", "512", "--parallel", "1", "--threads", "1"]
        words += ["--threads-batch", "1", "--cache-ram", "0"]
        log = tmp_path / f"{path.parent.name}.log"
        with (
            log.open("w") as errors,
            subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as process,
        ):
            try:
                said = process.stdout.readline()
                assert " at http://127.0.0.1:" in said, log.read_text()[-3000:]
                yield LlamaServer(said.split(" at ")[1].strip())
            finally:
                process.kill()

    return serve


class VllmServer:
    """A running vLLM server; greedy answers to prompts of token ids."""

    def __init__(self, url):
        self.url = url

    def first(self, prompt):
        """The greedy first token and its log probability."""
        body = {"model": "dummy", "prompt": prompt, "max_tokens": 1, "temperature": 0}
        body |= {"logprobs": 1, "ignore_eos": True, "return_token_ids": True}
        choice = ask(f"{self.url}/v1/completions", body)["choices"][0]
        return choice["token_ids"][0], choice["logprobs"]["token_logprobs"][0]

    def tokens(self, text):
        return ask(f"{self.url}/tokenize", {"model": "dummy", "prompt": text})["tokens"]


@pytest.fixture
def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def vllm(tmp_path, vllm_python, free_port):
    """Serves a Hugging Face folder with vLLM on the CPU while the block runs."""

    @contextmanager
    def serve(folder):
        words = [str(vllm_python), "-m", "vllm.entrypoints.openai.api_server"]
        words += ["--model", str(folder), "--served-model-name", "dummy"]
        words += ["--host", "127.0.0.1", "--port", str(free_port), "--dtype", "float32"]
        words += ["--max-model-len", "256", "--max-num-seqs", "2", "--enforce-eager"]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        environment |= {"VLLM_CPU_KVCACHE_SPACE": "1"}
        log = tmp_path / "vllm.log"
        with (
            log.open("w") as output,
            subprocess.Popen(
                words,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            ) as process,
        ):
            try:
                url = f"http://127.0.0.1:{free_port}"
                wait_until_healthy(process, url, log)
                yield VllmServer(url)
            finally:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(timeout=30)

    return serve


def wait_until_healthy(process, url, log):
    deadline = time.monotonic() + 300
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.3)


class Reference:
    """A llama written down in NumPy, over the tensors of a Hugging Face folder."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        text = (folder / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(text[:8], "little")
        entries = json.loads(text[8:start])
        del entries["__metadata__"]
        self.weights = {
            name: floats(
                text[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]]
            ).reshape(entry["shape"])
            for name, entry in entries.items()
        }

    def first(self, prompt):
        """The greedy first token, its log probability, and how far the second one is behind."""
        logits = self.logits(prompt).astype(float)
        logits -= logits.max()
        below = np.log(np.exp(logits).sum())
        best, second = np.argsort(logits)[:-3:-1]
        return int(best), float(-below), float(-logits[second])

    def logits(self, prompt):
        tables = self.weights["model.embed_tokens.weight"]
        states = tables[np.asarray(prompt)]
        for layer in range(self.config["num_hidden_layers"]):
            states = states + self.attention(layer, states)
            states = states + self.feed_forward(layer, states)
        last = self.norm("model.norm", states[-1])
        return self.weights.get("lm_head.weight", tables) @ last

    def norm(self, name, states):
        size = np.sqrt((states**2).mean(-1, keepdims=True) + self.config["rms_norm_eps"])
        return states / size * self.weights[f"{name}.weight"]

    def linear(self, name, states):
        return states @ self.weights[f"{name}.weight"].T

    def rotated(self, heads):
        """Value i of a head turns with value i + D/2."""
        count, _, dim = heads.shape
        speeds = self.config["rope_theta"] ** (-np.arange(0, dim, 2) / dim)
        angles = np.outer(np.arange(count), speeds)[:, None].astype(np.float32)
        left, right = heads[..., : dim // 2], heads[..., dim // 2 :]
        cosine, sine = np.cos(angles), np.sin(angles)
        return np.concatenate([left * cosine - right * sine, right * cosine + left * sine], -1)

    def attention(self, layer, states):
        config, block = self.config, f"model.layers.{layer}.self_attn."
        count, dim = len(states), config["head_dim"]
        shared = config["num_attention_heads"] // config["num_key_value_heads"]
        inputs = self.norm(f"model.layers.{layer}.input_layernorm", states)
        query, key, value = (
            self.linear(block + name, inputs).reshape(count, -1, dim)
            for name in ("q_proj", "k_proj", "v_proj")
        )
        key, value = (each.repeat(shared, 1) for each in (self.rotated(key), value))
        scores = np.einsum("qhd,khd->hqk", self.rotated(query), key) / np.float32(np.sqrt(dim))
        scores = np.where(np.tri(count, dtype=bool), scores, np.float32(-np.inf))
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", shares, value).reshape(count, -1)
        return self.linear(block + "o_proj", mixed)

    def feed_forward(self, layer, states):
        block = f"model.layers.{layer}.mlp."
        inputs = self.norm(f"model.layers.{layer}.post_attention_layernorm", states)
        gate = self.linear(block + "gate_proj", inputs)
        up = self.linear(block + "up_proj", inputs)
        return self.linear(block + "down_proj", gate / (1 + np.exp(-gate)) * up)


def floats(text):
    """BF16 values as 32-bit floats."""
    return (np.frombuffer(text, "<u2").astype("<u4") << 16).view("<f4")


@pytest.fixture(scope="session")
def reference():
    return Reference


@pytest.fixture(scope="session")
def prompts():
    """Prompts of eight token ids, none of them special."""

    def draw(count, vocabulary=2048):
        rng = np.random.default_rng(5)
        return rng.integers(300, vocabulary, (count, 8)).tolist()

    return draw

"""What is made here is loaded by the engines themselves, and means the same to each."""

import json
import subprocess

import pytest
from tokenizers import Tokenizer

from flows.checkpoint.recipe import recipe

pytestmark = pytest.mark.e2e

MODEL = "tiny-llama-19m"
LLAMAS = [MODEL, "tiny-llama-110m"]
CLEAR = 0.1  # a first token that leads by more is beyond the rounding of 16-bit arithmetic
BEYOND_Q8_0 = 0.4  # llama.cpp rounds activations to 8 bits as well
TEXTS = [
    "able baby cold",
    " bamo babadu hello World, it's 12345!",
    "naïve 日本\n\n\tok  fine\r\n",
    "user: able\nassistant:",
]


@pytest.fixture
def clear(reference, prompts):
    """Prompts whose first token leads by more than ``lead``, and that token and its chance."""

    def choose(folder, vocabulary, lead=CLEAR):
        computed = reference(folder)
        answers = [(prompt, *computed.first(prompt)) for prompt in prompts(10, vocabulary)]
        chosen = [answer[:3] for answer in answers if answer[3] > lead]
        assert len(chosen) >= 4
        return chosen

    return choose


@pytest.mark.parametrize("name", LLAMAS)
def test_llama_cpp_answers_what_numpy_computes_from_the_folder(name, made, llama_cpp, clear):
    cases = clear(made(name, "hf"), 32_000)

    with llama_cpp(made(name, "gguf-f16")) as server:
        for prompt, token, logprob in cases:
            assert server.first(prompt) == (token, pytest.approx(logprob, abs=0.05))


def test_grouped_keys_are_permuted_by_their_own_heads(small, made, llama_cpp, clear):
    model = small("llama")
    cases = clear(made(model, "hf"), 2048)

    with llama_cpp(made(model, "gguf-bf16")) as server:
        for prompt, token, logprob in cases:
            assert server.first(prompt) == (token, pytest.approx(logprob, abs=0.05))


def test_q8_0_holds_the_same_weights(made, llama_cpp, clear):
    cases = clear(made(MODEL, "hf"), 32_000, BEYOND_Q8_0)

    with llama_cpp(made(MODEL, "gguf-q8_0")) as server:
        for prompt, token, logprob in cases:
            assert server.first(prompt) == (token, pytest.approx(logprob, abs=0.3))


def test_a_file_whose_queries_and_keys_were_not_permuted_disagrees(made, llama_cpp, clear):
    cases = clear(made(MODEL, "hf"), 32_000)

    with llama_cpp(made(MODEL, "unpermuted")) as server:
        assert not any(server.first(prompt)[0] == token for prompt, token, _ in cases)


def test_a_streamed_answer_is_one_chunk_of_text_per_token_and_no_circle(
    made, llama_cpp, prompts
):
    with llama_cpp(made(MODEL, "gguf-q8_0")) as server:
        chunks = server.greedy(prompts(1)[0], 200)

    assert len(chunks) == 200
    assert all(text and len(tokens) == 1 for text, tokens in chunks)
    assert len({tokens[0] for _, tokens in chunks}) > 150


def test_llama_cpp_maps_text_to_the_ids_of_the_folders_tokenizer(small, made, llama_cpp):
    model = small("llama", vocab_size=32_000)
    folder = made(model, "hf")
    ours = Tokenizer.from_file(str(folder / "tokenizer.json"))

    with llama_cpp(made(model, "gguf-q8_0")) as server:
        for text in TEXTS:
            tokens = server.tokens(text)
            assert tokens == ours.encode(text).ids
            assert server.text(tokens) == text


@pytest.mark.parametrize("name", LLAMAS)
def test_vllm_and_llama_cpp_agree_on_the_first_greedy_token(name, made, llama_cpp, vllm, clear):
    folder = made(name, "hf")
    asked = [prompt for prompt, _, _ in clear(folder, 32_000)]

    with vllm(folder) as server:
        first = [server.first(prompt) for prompt in asked]
        tokens = [server.tokens(text) for text in TEXTS]
    with llama_cpp(made(name, "gguf-f16")) as server:
        for prompt, (token, logprob) in zip(asked, first, strict=True):
            assert server.first(prompt) == (token, pytest.approx(logprob, abs=0.05))
        assert [server.tokens(text) for text in TEXTS] == tokens
    with llama_cpp(made(name, "unpermuted")) as server:
        agreed = [
            server.first(prompt)[0] == token
            for prompt, (token, _) in zip(asked, first, strict=True)
        ]

    assert not any(agreed)


LOAD = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
torch.set_num_threads(1)
for line in sys.stdin:
    folder, prompts = json.loads(line)
    model, told = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True
    )
    answers = []
    for prompt in prompts:
        with torch.no_grad():
            logits = model(torch.tensor([prompt])).logits[0, -1]
        chances = torch.log_softmax(logits.double(), -1)
        best = chances.topk(2)
        answers.append([int(best.indices[0]), float(best.values[0]), *best.values.tolist()])
    told = {key: sorted(map(str, value)) for key, value in told.items() if value}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    print(json.dumps({
        "told": told,
        "parameters": sum(each.numel() for each in model.parameters()),
        "answers": answers,
        "ids": len(tokenizer),
        "encoded": [tokenizer.encode(text) for text in json.loads(sys.argv[1])],
    }))
"""


@pytest.fixture
def transformers(vllm_python, prompts):
    """What Hugging Face's own implementation loads from each folder, and what it answers."""

    def load(folders):
        lines = "".join(json.dumps([str(each), prompts(6)]) + "\n" for each in folders)
        done = subprocess.run(
            [str(vllm_python), "-c", LOAD, json.dumps(TEXTS)],
            input=lines,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return load


def test_hugging_face_finds_every_tensor_that_it_wants_and_no_other(
    families, made, transformers
):
    folders = [made(model, "hf") for model in families]

    for model, folder, loaded in zip(families, folders, transformers(folders), strict=True):
        tensors = recipe(model, "hf", 0).tensors
        ours = Tokenizer.from_file(str(folder / "tokenizer.json"))
        assert loaded["told"] == {}
        assert loaded["parameters"] == sum(tensor.values for tensor in tensors)
        assert loaded["ids"] == 2048
        assert loaded["encoded"] == [ours.encode(text).ids for text in TEXTS]


def test_every_gguf_architecture_answers_as_hugging_face_does(
    in_gguf, made, transformers, llama_cpp, prompts
):
    loaded = transformers([made(model, "hf") for model in in_gguf])

    for model, expected in zip(in_gguf, loaded, strict=True):
        compared = 0
        with llama_cpp(made(model, "gguf-f16")) as server:
            for prompt, answer in zip(prompts(6), expected["answers"], strict=True):
                token, logprob, best, second = answer
                if best - second > CLEAR:
                    compared += 1
                    assert server.first(prompt) == (token, pytest.approx(logprob, abs=0.05))
        assert compared >= 3

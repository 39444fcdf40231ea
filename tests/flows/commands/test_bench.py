"""``runoff bench`` before anything is measured: flags, and servers that cannot be."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from flows.cli import run
from flows.rehearsal import Running, Settings, start

FLAGS = """
--endpoint --model --prompt-tokens --output-tokens --output --concurrency
--arrival-process --request-rate --burstiness --trace --dataset --think-time --shared-prefix
--num-requests --duration --warmup --warmup-requests --replications --ttft-slo --itl-slo
--itl-statistic --goodput --seed --temperature --timeout --header --api-key-env --insecure
--ca-file --tokenizer --shards --json --raw --calibrate
"""
URL = "http://127.0.0.1:9/v1/completions"
USUAL = ("--model", "m", "--concurrency", "2", "--num-requests", "20", "--warmup-requests", "4")


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    settings = {
        "model": "served",
        "identity": {"other_models": "404", "api_key": "right"},
        "engine": {"max_model_len": 2048},
    }
    with start(Settings.from_json(settings)) as running:
        yield running


@pytest.fixture
def no_load(monkeypatch):
    """Fail where a load process is started."""

    def refuse(*_jobs, **_options):
        pytest.fail("the clock was started")

    monkeypatch.setattr("flows.bench.shard.run_shards", refuse)


def ended(capsys, *arguments: str) -> tuple[int, str, str]:
    code = run(["bench", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_tells_every_flag(capsys):
    code, out, _ = ended(capsys, "--help")

    assert code == 0
    assert [flag for flag in FLAGS.split() if flag not in out] == []


def test_help_costs_no_numerical_library():
    script = (
        "import sys; from flows.cli import run; run(['bench', '--help']); "
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'scipy', 'prefect') "
        "if m in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_nothing_that_only_parses_is_imported_before_the_first_send():
    script = (
        "import sys; import flows.bench.session; print([m for m in "
        "('pandas', 'pyarrow', 'scipy', 'orjson', 'rich', 'tokenizers') if m in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ((), "--endpoint: it is missing"),
        (("--endpoint", URL), "--model: it is missing"),
        (("--endpoint", "grpc://localhost:8001", *USUAL), "SSE over HTTP only"),
        (("--endpoint", URL, "--model", "m"), "--concurrency: it is missing"),
        (("--endpoint", URL, *USUAL, "--json", "/no/such/out.json"), "--json: there is no"),
        (("--endpoint", URL, *USUAL, "--raw", "/no/such/out.parquet"), "--raw: there is no"),
        (("--endpoint", URL, *USUAL, "--raw", "/"), "--raw: / cannot be written"),
        (("--endpoint", URL, *USUAL, "--tokenizer", "/no"), "--tokenizer: /no is no file"),
        (("--endpoint", URL, *USUAL, "--arrival-process", "ramp"), "--arrival-process"),
        (("--endpoint", URL, *USUAL, "--num-requests", "many"), "--num-requests"),
        (("--endpoint", "https://192.0.2.1/v1/completions", *USUAL), "LOOPBACK_ONLY=1"),
    ],
)
def test_flags_that_cannot_be_used_end_with_two_and_say_what_to_do(
    capsys, no_load, arguments, seen
):
    code, out, err = ended(capsys, *arguments)

    assert code == 2
    assert seen in err
    assert out == ""


def test_a_port_where_nothing_listens_ends_with_eight(capsys, no_load):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    code, _, err = ended(
        capsys, "--endpoint", f"http://127.0.0.1:{port}/v1/completions", *USUAL
    )

    assert code == 8
    assert "nothing listens there" in err


KEY = ("--header", "Authorization: Bearer right")


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("/v1/completions",), "HTTP 401"),
        (("/v1/completions", *KEY), "'m' (HTTP 404"),
        (("/v9/completions", *KEY), "not one of its calls"),
    ],
)
def test_a_server_that_refuses_is_told_before_the_clock(
    capsys, no_load, server, arguments, seen
):
    path, *flags = arguments

    code, _, err = ended(capsys, "--endpoint", server.url + path, *USUAL, *flags)

    assert code == 8
    assert seen in err


def test_an_unknown_model_is_answered_with_the_one_that_is_served(capsys, no_load, server):
    _, _, err = ended(capsys, "--endpoint", server.url + "/v1/completions", *USUAL, *KEY)

    assert "Use --model served" in err


def test_a_server_that_is_still_loading_is_told(capsys, no_load):
    settings = {"lifecycle": {"never_ready": True, "while_loading": "503"}}
    with start(Settings.from_json(settings)) as loading:
        code, _, err = ended(capsys, "--endpoint", loading.url + "/v1/completions", *USUAL)

    assert code == 8
    assert "HTTP 503" in err
    assert "Wait until it is ready" in err

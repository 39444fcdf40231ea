"""Addresses: what may be measured, and what they speak."""

from __future__ import annotations

import pytest

from flows.bench.endpoint import (
    checked_endpoint,
    dialect_of,
    is_loopback,
    root_of,
    sibling_of,
)
from flows.errors import UsageError
from flows.load.plan import Tls


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("http://localhost:8000/v1/completions", "completions"),
        ("http://localhost:8000/v1/chat/completions", "chat"),
        ("https://host/llm/v3/chat/completions/", "chat"),
        ("http://[::1]:8000/completions", "completions"),
    ],
)
def test_the_end_of_the_path_says_what_an_endpoint_speaks(url, dialect):
    assert dialect_of(url) == dialect


@pytest.mark.parametrize("url", ["grpc://localhost:8001", "grpcs://host/v1/completions"])
def test_grpc_is_refused_with_the_sentence_that_says_why(url):
    with pytest.raises(UsageError, match="SSE over HTTP only"):
        checked_endpoint(url, {}, Tls())


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://localhost:8000/v1", "names no completions endpoint"),
        ("localhost:8000/v1/completions", "is no http or https address"),
        ("ftp://localhost/v1/completions", "is no http or https address"),
        ("http:///v1/completions", "is no http or https address"),
        ("http://localhost:99999/v1/completions", "is no address"),
        ("http://10.0.0.7:8000/v1/completions", "in the clear"),
        ("http://example.com/v1/completions", "in the clear"),
        ("http://localhost.example.com/v1/completions", "in the clear"),
    ],
)
def test_an_address_that_cannot_be_measured_says_what_was_seen(url, seen):
    with pytest.raises(UsageError) as caught:
        checked_endpoint(url, {}, Tls())

    assert seen in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1/completions",
        "http://127.8.8.8/v1/completions",
        "http://[::1]/v1/completions",
        "https://10.0.0.7/v1/completions",
    ],
)
def test_http_stays_on_this_machine_and_https_goes_anywhere(url):
    assert checked_endpoint(url, {"A": "b"}, Tls()).url == url


def test_a_name_that_only_looks_like_loopback_is_not():
    assert not is_loopback("127.0.0.1.example.com")
    assert not is_loopback("")


def test_metrics_and_models_stand_beside_the_call_even_behind_a_path_prefix():
    assert root_of("http://localhost:8000/v1/chat/completions") == "http://localhost:8000"
    assert root_of("https://host/llm/v3/completions") == "https://host/llm"
    assert sibling_of("http://h:1/v1/completions", "models") == "http://h:1/v1/models"

"""Values of headers and queries that a server repeats do not come out of its words."""

from __future__ import annotations

import json

import pytest

from flows.bench.masking import masked
from flows.load.plan import Endpoint

ENDPOINTS = [
    Endpoint(url="https://a/v1/completions", headers={"Authorization": "Bearer sk-planted-1"}),
    Endpoint(
        url="https://b/v1/completions?key=sk%2Dplanted-2",
        headers={"X-Team": 'with "quotes"', "X-Id": "abc"},
    ),
]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no sk-planted-1 here", "no *** here"),
        ("got Bearer sk-planted-1", "got ***"),
        ("no sk-planted-2 either, sk%2Dplanted-2", "no *** either, ***"),
        ("twice sk-planted-1 sk-planted-1", "twice *** ***"),
        (json.dumps({"team": 'with "quotes"'}), '{"team": "***"}'),
        ("Bearer tokens only, abc", "Bearer tokens only, abc"),
        ("", ""),
    ],
)
def test_values_and_the_key_behind_its_scheme_are_masked(said, shown):
    assert masked(said, ENDPOINTS) == shown


def test_without_headers_nothing_is_masked():
    assert masked("all of it", [Endpoint(url="https://a/v1/completions")]) == "all of it"

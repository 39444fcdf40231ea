"""The key ``aws`` of a campaign file: what would admit, cost or leak too much is refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from catalog.schema.cloud import Aws


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ("203.0.113.7", "203.0.113.7/32"),
        ("203.0.113.0/24", "203.0.113.0/24"),
        ("2001:db8::1", "2001:db8::1/128"),
        ("https://ip.example/me", "https://ip.example/me"),
        (None, None),
    ],
)
def test_a_caller_is_an_address_a_range_or_who_tells(stated, kept):
    assert Aws(caller=stated).caller == kept


@pytest.mark.parametrize(
    "stated", ["0.0.0.0/0", "::/0", "10.0.0.0/8", "203.0.113.7/24", "me", "http://ip.example"]
)
def test_a_caller_that_is_many_or_nobody_is_refused(stated):
    with pytest.raises(ValidationError):
        Aws(caller=stated)


@pytest.mark.parametrize(
    "keys",
    [
        {"proxy": "http://ada:secret@proxy.example:3128"},
        {"proxy": "proxy.example:3128"},
        {"proxy": "http://proxy.example\nEVIL=1"},
        {"tags": {"runoff:run": "another"}},
        {"tags": {"aws:x": "1"}},
        {"tags": {str(n): "1" for n in range(41)}},
        {"key_name": "ada"},
        {"key_file": "ada.pem"},
        {"market": "spot", "capacity_reservation": "cr-0123456789abcdef0", "zones": ["a"]},
        {"market": "capacity-block", "zones": ["a"]},
        {"capacity_reservation": "cr-0123456789abcdef0"},
        {"capacity_reservation": "cr-0123456789abcdef0", "zones": ["a", "b"]},
        {"market": "free"},
        {"region": "america"},
        {"disk_throughput": 99},
        {"account": "1"},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(keys):
    with pytest.raises(ValidationError):
        Aws(**keys)


def test_a_capacity_reservation_says_where_it_is():
    stated = Aws(capacity_reservation="cr-0123456789abcdef0", zones=("us-east-1b",))

    assert stated.zones == ("us-east-1b",)


def test_nothing_has_to_be_stated():
    assert Aws().market == "on-demand"

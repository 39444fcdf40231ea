"""What a first pull comes from is asked for by the addresses that somebody names."""

from __future__ import annotations

import socket

import pytest

from flows.hosts.here import LocalHost
from flows.reaching import Source, sources, unreached

INDEX = {
    "kind": "address",
    "name": "the installer's default package index",
    "reason": "package index",
}
HUB = {"kind": "address", "name": "the hub client's default address", "reason": "model hub"}
WHEEL = {"kind": "wheel", "name": "vllm", "reason": ""}


def registry(name: str):
    return {"kind": "address", "name": name, "reason": "image registry"}


def reached(*needs, installs: bool = True, **environment: str):
    found = sources([WHEEL, *needs], environment, installs=installs)
    return [(each.what, each.address) for each in found]


def test_what_nobody_names_is_not_asked_for():
    assert reached(INDEX, HUB) == []


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("images.example", "images.example:443"),
        ("images.example:5000/team", "images.example:5000"),
        ("http://10.0.0.7", "10.0.0.7:80"),
        ("https://[fd00::7]:8443/v2", "[fd00::7]:8443"),
    ],
)
def test_a_mirror_is_asked_for_at_its_port(name, address):
    assert reached(registry(name)) == [("image registry", address)]


def test_the_machines_own_settings_name_what_the_plan_does_not():
    assert reached(
        INDEX,
        HUB,
        PIP_INDEX_URL="https://wheels.example/simple",
        HF_ENDPOINT="http://hub.example:8080",
    ) == [("package index", "wheels.example:443"), ("model hub", "hub.example:8080")]


def test_a_machine_that_has_its_release_needs_no_index():
    assert reached(INDEX, installs=False, PIP_INDEX_URL="https://wheels.example") == []


def test_a_folder_is_not_reached():
    assert reached({**HUB, "name": "/srv/weights"}) == []


def test_behind_a_proxy_the_proxy_is_asked_for_except_where_it_does_not_lead():
    behind = {"https_proxy": "http://proxy.example:3128", "no_proxy": ".inside.example"}

    assert reached(HUB, registry("images.inside.example"), **behind) == [
        ("proxy to the model hub", "proxy.example:3128"),
        ("image registry", "images.inside.example:443"),
    ]


def test_where_only_loopback_is_allowed_nothing_else_is_asked_for():
    alone = {"RUNOFF_LOOPBACK_ONLY": "1"}

    assert reached(registry("images.example"), registry("127.0.0.1:5000"), **alone) == [
        ("image registry", "127.0.0.1:5000")
    ]


@pytest.mark.e2e
def test_what_answers_is_reached_and_the_rest_is_told_with_why():
    with socket.create_server(("127.0.0.1", 0)) as open_:
        address = f"127.0.0.1:{open_.getsockname()[1]}"
        asked = [Source(what="model hub", address=each) for each in (address, "127.0.0.1:9")]

        ((source, why),) = unreached(LocalHost(), asked)

    assert (source.address, why) == ("127.0.0.1:9", "Connection refused")

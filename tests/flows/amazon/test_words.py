"""What needs no cloud: quotas and images by name, tags, tokens, sizes, refusals."""

from __future__ import annotations

import datetime as dt
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.quantity import Basis, Quantity
from flows.amazon import tags
from flows.amazon.api import ApiError
from flows.amazon.images import Image, TypeFacts, parameter_of
from flows.amazon.launch_request import Place, client_token, volume_gib
from flows.amazon.network import caller_range
from flows.amazon.prices import hourly_usd, only
from flows.amazon.quotas import quota_of
from flows.amazon.refusals import explained, kind_of, still_billed
from flows.clouds.protocol import Order
from flows.errors import ExitCode, InfrastructureError, UsageError

EXPIRES = dt.datetime(2026, 11, 30, 14, 0, tzinfo=dt.UTC)
WORDS = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=20)
GIB = 2**30


def order(campaign: str = "a", run: str = "r1", number: int = 1, **more) -> Order:
    told = {"host": None, "offer": "aws/g6.xlarge", "expires": EXPIRES, **more}
    return Order(campaign=campaign, run=run, number=number, **told)


@pytest.mark.parametrize(
    ("kind", "is_spot", "name", "code"),
    [
        ("g6.xlarge", False, "Running On-Demand G and VT instances", "L-DB2E81BA"),
        ("gr6.4xlarge", False, "Running On-Demand G and VT instances", "L-DB2E81BA"),
        ("p4de.24xlarge", False, "Running On-Demand P instances", "L-417A185B"),
        ("p4de.24xlarge", True, "All P4, P3 and P2 Spot Instance Requests", "L-7212CCBC"),
        ("p5.48xlarge", True, "All P5 Spot Instance Requests", "L-C4BD4855"),
        ("g6.xlarge", True, "All G and VT Spot Instance Requests", "L-3819A6DF"),
        ("hpc7a.96xlarge", False, "Running On-Demand HPC instances", "L-F7808C92"),
        ("inf2.xlarge", False, "Running On-Demand Inf instances", "L-1945791B"),
        (
            "m8i.24xlarge",
            False,
            "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
            "L-1216C47A",
        ),
        (
            "i7ie.xlarge",
            False,
            "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
            "L-1216C47A",
        ),
    ],
)
def test_a_machine_counts_against_its_familys_quota(kind, is_spot, name, code):
    quota = quota_of(kind, is_spot=is_spot)

    assert (quota.name, quota.code) == (name, code)


def test_a_family_without_a_quota_of_that_kind_has_a_name_and_no_code():
    assert quota_of("hpc7a.96xlarge", is_spot=True).code is None


@pytest.mark.parametrize("kind", ["p3.2xlarge", "p3dn.24xlarge"])
def test_a_gpu_that_the_images_driver_does_not_know_is_refused(kind):
    facts = TypeFacts(name=kind, architecture="x86_64", vcpus=8, has_nvidia=True)

    with pytest.raises(UsageError, match="does not know the GPUs"):
        parameter_of("deep-learning", facts)


def test_a_word_that_is_no_image_is_refused_with_those_that_are():
    facts = TypeFacts(name="g6.xlarge", architecture="x86_64", vcpus=4, has_nvidia=True)

    with pytest.raises(UsageError, match="deep-learning, ubuntu, amazon-linux"):
        parameter_of("windows", facts)


@given(WORDS, WORDS, st.integers(1, 9), st.integers(1, 99))
def test_a_token_is_of_64_digits_and_the_same_for_the_same_attempt(campaign, run, number, n):
    place = Place(zone="us-east-1a")
    asked = order(campaign, run, number)

    token = client_token(asked, place, n, "h1")

    assert len(token) == 64
    assert set(token) <= set(string.hexdigits)
    assert token == client_token(order(campaign, run, number), place, n, "h1")


def test_a_token_differs_with_all_that_makes_an_attempt_another():
    here = Place(zone="us-east-1a")
    asked = [
        client_token(order(), here, 1, "h1"),
        client_token(order(), here, 2, "h1"),
        client_token(order(), here, 1, "h2"),
        client_token(order(), Place(zone="us-east-1b"), 1, "h1"),
        client_token(order(), Place(zone="us-east-1a", subnet="subnet-1"), 1, "h1"),
        client_token(order(campaign="b"), here, 1, "h1"),
        client_token(order(run="r2"), here, 1, "h1"),
        client_token(order(number=2), here, 1, "h1"),
        client_token(order(offer="aws/g6.2xlarge"), here, 1, "h1"),
    ]

    assert len(set(asked)) == len(asked)


IMAGE = Image(
    id="ami-1", name="n", root_device="/dev/sda1", root_gib=35, user="u", parameter=None
)


@pytest.mark.parametrize(
    ("disk_bytes", "stated", "gib"),
    [
        (None, None, 100),
        (20 * GIB, None, 100),
        (140 * GIB, None, 205),
        (140 * GIB + 1, None, 206),
        (140 * GIB, 60 * GIB, 60),
        (None, 10 * GIB, 35),
    ],
)
def test_a_volume_holds_image_model_and_the_rest_or_what_was_stated(disk_bytes, stated, gib):
    told = (
        None
        if stated is None
        else Quantity(value=stated, unit="B", basis=Basis.ASSUMPTION, source="file")
    )

    assert volume_gib(IMAGE, disk_bytes, told) == gib


@given(st.text(max_size=400))
def test_tags_are_what_aws_takes_whatever_a_campaign_is_called(text):
    made = tags.tags_of(order(campaign=text), text, {"own": "1"})

    assert made["own"] == "1"
    for name in (tags.CAMPAIGN, tags.BY):
        assert len(made[name]) <= 256
        assert all(each.isalnum() or each in " _.:/=+@-" for each in made[name])


def test_a_run_is_found_by_its_tags_however_long_its_name():
    made = tags.tags_of(order(campaign="a" * 300, run="r" * 300), "me", {})
    wanted = {each["Name"]: each["Values"] for each in tags.of_run("a" * 300, "r" * 300)}

    assert wanted == {f"tag:{name}": [made[name]] for name in (tags.CAMPAIGN, tags.RUN)}
    other = tags.tags_of(order(campaign="a" * 301), "me", {})
    assert made[tags.CAMPAIGN] != other[tags.CAMPAIGN]


def test_our_tags_win_over_a_users_of_the_same_name():
    assert tags.tags_of(order(), "me", {tags.RUN: "forged"})[tags.RUN] == "r1"


@pytest.mark.parametrize(
    ("code", "kind", "do"),
    [
        ("InsufficientInstanceCapacity", "capacity", "other zones"),
        ("SpotMaxPriceTooLow", "capacity", "other zones"),
        ("MaxSpotInstanceCountExceeded", "quota", "Service Quotas"),
        ("RequestLimitExceeded", "busy", "again"),
        ("ExpiredToken", "credentials", "Renew"),
        ("UnauthorizedOperation", "denied", "runoff doctor aws"),
        ("InvalidInstanceID.NotFound", "gone", "runoff machines"),
        ("SomethingNew", "other", "runoff doctor aws"),
    ],
)
def test_a_refusal_says_what_it_means_and_what_to_do(code, kind, do):
    error = ApiError("run_instances", "us-east-1", code, "as AWS says.")

    told = explained(error)

    assert kind_of(error) == kind
    assert f"{code}: as AWS says" in told.seen
    assert do in told.do
    assert still_billed("i-1", error).exit_code == ExitCode.STILL_BILLED


def answering(text: str):
    return lambda url: text


@pytest.mark.parametrize(
    ("stated", "answer", "admitted"),
    [
        ("203.0.113.7/32", "", "203.0.113.7/32"),
        ("https://ip.example", "203.0.113.9\n", "203.0.113.9/32"),
        ("https://ip.example", "2001:db8::1", "2001:db8::1/128"),
    ],
)
def test_the_caller_is_who_was_stated_or_who_the_stated_service_sees(stated, answer, admitted):
    assert caller_range(stated, answering(answer)) == admitted


@pytest.mark.parametrize("answer", ["<html>", "", "0.0.0.0/0", "203.0.113.9, 10.0.0.1"])
def test_a_service_that_answers_no_address_admits_nobody(answer):
    with pytest.raises(InfrastructureError, match="no address"):
        caller_range("https://ip.example", answering(answer))


def test_hours_in_dollars_are_prices_and_nothing_else_is():
    def term(unit: str, per: dict[str, str]):
        return {"priceDimensions": {"d": {"unit": unit, "pricePerUnit": per}}}

    product = {
        "terms": {
            "OnDemand": {
                "a": term("Hrs", {"USD": "4.6"}),
                "b": term("Quantity", {"USD": "99"}),
                "c": term("Hrs", {"CNY": "30"}),
            }
        }
    }

    assert hourly_usd(product) == {4.6}
    assert only([{4.6}, {4.6, 0.0}]) == 4.6
    assert only([{4.6}, {4.7}]) is None
    assert only([]) is None

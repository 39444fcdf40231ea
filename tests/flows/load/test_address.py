import pytest

from flows.load.address import query_values, shown

PLACE = "https://host:8443/v1/completions"


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        (PLACE, PLACE),
        (f"{PLACE}?key=sk-planted", f"{PLACE}?key=***"),
        (f"{PLACE}?api-version=1&key=sk%2Dplanted", f"{PLACE}?api-version=***&key=***"),
        (f"{PLACE}?sk-planted", f"{PLACE}?***"),
        (f"{PLACE}?key=sk=planted==", f"{PLACE}?key=***"),
        (f"{PLACE}?", f"{PLACE}?"),
        ("https://me:sk-planted@host/v1/completions", "https://***@host/v1/completions"),
        ("https://host/v1/@here/completions", "https://host/v1/@here/completions"),
        ("no address at all", "no address at all"),
        ("/elsewhere?key=sk-planted", "/elsewhere?key=***"),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_key(url, masked):
    assert shown(url) == masked


def test_the_values_of_a_query_are_known_as_written_and_as_read():
    assert query_values(f"{PLACE}?a=1&key=sk%2Dplanted&bare#part") == {
        "1",
        "sk%2Dplanted",
        "sk-planted",
        "bare",
    }
    assert query_values(PLACE) == set()

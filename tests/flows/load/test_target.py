import pytest

from flows.load.address import shown
from flows.load.errors import EndpointError
from flows.load.plan import Endpoint
from flows.load.target import target


def head(url, **headers):
    found = target(0, Endpoint(url=url, headers=headers), loopback_only=True)
    return found.message("{}").decode()


def test_a_request_is_one_post_with_its_length_in_bytes():
    found = target(0, Endpoint(url="http://127.0.0.1:8000/v1/completions"), loopback_only=True)

    assert found.message('{"p": "ä"}') == (
        b"POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1:8000\r\n"
        b"content-type: application/json\r\naccept: */*\r\naccept-encoding: identity\r\n"
        b'user-agent: runoff\r\ncontent-length: 11\r\n\r\n{"p": "\xc3\xa4"}'
    )


@pytest.mark.parametrize(
    ("url", "path", "host"),
    [
        ("http://127.0.0.1", "/", "127.0.0.1"),
        ("http://127.0.0.1:80/a", "/a", "127.0.0.1"),
        ("http://127.0.0.1:443/a", "/a", "127.0.0.1:443"),
        ("https://127.0.0.1:443/a", "/a", "127.0.0.1"),
        ("http://[::1]:8000/a", "/a", "[::1]:8000"),
        ("http://127.0.0.1/a?b=c&d", "/a?b=c&d", "127.0.0.1"),
    ],
)
def test_path_and_host_are_those_of_the_url(url, path, host):
    assert head(url).startswith(f"POST {path} HTTP/1.1\r\nhost: {host}\r\n")


def test_own_headers_replace_the_defaults_whatever_their_case():
    text = head("http://127.0.0.1", **{"Accept": "text/event-stream", "X-Trace": "1"})

    assert text.count("accept:") == 1
    assert "accept: text/event-stream\r\n" in text
    assert "x-trace: 1\r\n" in text


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000",
        "ftp://127.0.0.1/",
        "http:///v1",
        "http://user@127.0.0.1/",
        "http://127.0.0.1:99999/",
    ],
)
def test_a_url_that_is_no_endpoint_is_refused_by_name(url):
    with pytest.raises(EndpointError) as refused:
        target(0, Endpoint(url=url), loopback_only=False)

    assert shown(url) in str(refused.value)


@pytest.mark.parametrize("url", ["http://192.0.2.1:8000/", "https://[2001:db8::1]/"])
def test_a_host_beyond_this_machine_is_refused_where_only_loopback_is_allowed(url):
    with pytest.raises(EndpointError, match="RUNOFF_LOOPBACK_ONLY"):
        target(0, Endpoint(url=url), loopback_only=True)


def test_a_host_beyond_this_machine_is_a_target_otherwise():
    found = target(0, Endpoint(url="http://192.0.2.1:8000/"), loopback_only=False)

    assert found.addresses[0][1] == ("192.0.2.1", 8000)


def test_only_a_name_takes_time_to_look_up():
    name = target(0, Endpoint(url="http://localhost/"), loopback_only=True)
    address = target(0, Endpoint(url="http://127.0.0.1/"), loopback_only=True)

    assert name.dns_us > 0
    assert address.dns_us is None


def test_a_name_that_does_not_exist_is_told():
    with pytest.raises(EndpointError, match="cannot be resolved"):
        target(0, Endpoint(url="http://no-such-host.invalid/"), loopback_only=False)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "planted-secret\r\nx: y"},
        {"authorization": "planted-secret\0"},
        {"a\nb": "planted-secret"},
    ],
)
def test_a_header_that_would_break_the_request_is_refused_without_its_value(headers):
    with pytest.raises(EndpointError, match="header") as refused:
        target(0, Endpoint(url="http://127.0.0.1", headers=headers), loopback_only=True)

    assert "planted-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["Content-Length", "transfer-encoding", "Connection", "expect"]
)
def test_a_header_that_frames_the_request_is_not_the_users(name):
    with pytest.raises(EndpointError, match=name):
        head("http://127.0.0.1", **{name: "1"})


def test_a_header_beyond_latin_1_is_refused():
    with pytest.raises(EndpointError, match="Latin-1"):
        head("http://127.0.0.1", **{"x-name": "Ω"})


@pytest.mark.parametrize(
    ("host", "headers"),
    [
        ("user:sk-planted@127.0.0.1", {}),
        ("127.0.0.1:99999", {}),
        ("192.0.2.1", {}),
        ("127.0.0.1", {"x-word": "\u20ac"}),
        ("127.0.0.1", {"x-word": "\0"}),
        ("127.0.0.1", {"content-length": "3"}),
    ],
)
def test_no_refusal_repeats_a_key_of_the_address(host, headers):
    endpoint = Endpoint(url=f"http://{host}/v1?key=sk-planted", headers=headers)

    with pytest.raises(EndpointError) as refused:
        target(0, endpoint, loopback_only=True)

    assert "sk-planted" not in str(refused.value)


def test_an_unprintable_path_is_refused_without_its_query():
    endpoint = Endpoint(url="http://127.0.0.1/v1\x7f?key=sk-planted")

    with pytest.raises(EndpointError, match="unprintable") as refused:
        target(0, endpoint, loopback_only=True)

    assert "sk-planted" not in str(refused.value)

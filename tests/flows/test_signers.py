"""A key signs for whom the list of allowed signers gives it to, and for one person alone."""

from __future__ import annotations

import pytest

from flows.signers import principal_in, shown, tied
from flows.ssh_signature import Verified
from reports.run.signoff_file import Approval


def signed(by, who=None, key="ED25519 SHA256:abc"):
    approval = Approval(by=by, role="Lead", statement="Yes", at="2026-08-22T12:00:00+00:00")
    return approval, Verified(key=key, who=who, seen="good")


@pytest.mark.parametrize(
    ("by", "principal"),
    [
        ("Ada <ada@example.org>", "ada@example.org"),
        ("ada@example.org", "ada@example.org"),
        ("Ada Lovelace (ada@example.org)", "ada@example.org"),
        ("Ada Lovelace", None),
    ],
)
def test_the_address_in_a_name_is_found(by, principal):
    assert principal_in(by) == principal


def test_an_address_that_is_not_the_key_s_is_told():
    seen = tied(0, [signed("Ada <ada@example.org>", who="grace@example.org")])

    assert seen == "Ada <ada@example.org> approves, and the key is that of grace@example.org"


def test_a_name_without_an_address_is_shown_beside_the_principal():
    approval, found = signed("Ada Lovelace", who="ada@example.org")

    assert tied(0, [(approval, found)]) is None
    assert shown(approval, found) == "good; it signs for Ada Lovelace"


def test_one_key_for_two_names_is_told_at_the_later_one_whoever_is_allowed():
    both = [signed("Ada"), signed("Grace")]

    assert tied(0, both) is None
    assert "has signed for Ada before" in tied(1, both)
    assert tied(1, [signed("Ada"), signed("Grace", key="ED25519 SHA256:def")]) is None


def test_a_signature_that_is_not_good_is_tied_to_nobody():
    assert tied(1, [signed("Ada", key=None), signed("Grace", key=None)]) is None

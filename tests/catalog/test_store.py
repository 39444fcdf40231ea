"""Where a campaign file says that its runs are kept."""

from __future__ import annotations

import pytest

from catalog.store import bucket_and_prefix, check_store


@pytest.mark.parametrize(
    "stated",
    ["runs", "../runs", "/srv/runs", "C:/runs", "a: b", "s3://b", "s3://team-runs/a b/ü?#%41"],
)
def test_folders_and_buckets_are_taken_as_they_are_stated(stated):
    assert check_store(stated) == stated


@pytest.mark.parametrize(
    "stated",
    ["gs://bucket/x", "S3://bucket/x", "s3:/bucket/x", "s3://", "s3:///x", "s3://B!/x"],
)
def test_an_address_of_no_bucket_becomes_no_folder_of_that_name(stated):
    with pytest.raises(ValueError, match="it names no bucket; write s3://BUCKET/PREFIX"):
        check_store(stated)


@pytest.mark.parametrize("stated", ["", "runs\n", "s3://b/a\x00"])
def test_what_names_no_folder_is_refused(stated):
    with pytest.raises(ValueError, match="it names no folder"):
        check_store(stated)


def test_a_prefix_has_no_slashes_at_its_ends_and_stays_in_its_bucket():
    assert bucket_and_prefix("s3://b//x/y/") == ("b", "x/y")
    with pytest.raises(ValueError, match="no bucket"):
        bucket_and_prefix("s3://b/../c")

"""A campaign whose runs lie on S3: killed on one machine, it goes on on another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import boto3
import pytest

from reports.manifest import verify
from reports.run.read import read_run
from tests.e2e.campaign.conftest import Folder, engine, kept, planned
from tests.flows.store.s3_endpoint import Fault, S3Proxy, World, running_s3

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("prefect")]
STORE = "s3://team-runs/serving"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Proxy]:
    with running_s3() as proxy:
        boto3.client(
            "s3",
            region_name="us-east-1",
            endpoint_url=proxy.url,
            aws_access_key_id="AKIDTEST",
            aws_secret_access_key="x",
        ).create_bucket(Bucket="team-runs")
        yield proxy


def machine(folder: Folder, s3: S3Proxy, home: Path) -> Folder:
    """The user's folder on a machine with a state of its own."""
    environment = {
        **folder.environment,
        "RUNOFF_HOME": str(home),
        "AWS_ENDPOINT_URL": s3.url,
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": "the-secret-of-the-test",
        "AWS_REGION": "us-east-1",
    }
    return replace(folder, environment=environment)


def newest(home: Path):
    (campaign,) = home.glob("state/stores/team-runs/serving/small")
    return read_run(max(campaign.iterdir()))


def test_a_run_that_was_killed_here_goes_on_elsewhere(folder, s3, tmp_path) -> None:
    s3.world = World()
    file = folder.campaign([engine("a")], matrix={"rates": []}, store=STORE)
    here = machine(folder, s3, tmp_path / "here")
    started = here.start(file)
    while started.poll() is None and not any("0.cell.json" in key for key in s3.world.puts()):
        started.stderr.readline()
    started.kill()
    started.communicate()

    there = machine(folder, s3, tmp_path / "there")
    done = there.compare(file, "--resume", "latest")

    run = newest(tmp_path / "there")
    assert done.code in (0, 4, 5, 7), done.err
    assert kept(run) == planned(run)
    assert verify(run.folder) == ()
    resumed = [entry["event"] for entry in run.ledger].index("resumed")
    measured = [e["replication"] for e in run.ledger[resumed:] if e["event"] == "measured"]
    assert measured == [1]  # the first came from the machine that was killed
    assert s3.world.puts()[-1].endswith("/manifest.json")
    assert "copied to s3://team-runs/serving/small/" in done.err


def test_nothing_is_measured_where_nothing_can_be_written(folder, s3, tmp_path) -> None:
    s3.world = World(faults=[Fault("PUT", "AccessDenied")])
    file = folder.campaign([engine("a")], matrix={"rates": []}, store=STORE)
    done = machine(folder, s3, tmp_path / "here").compare(file)

    assert done.code == 8
    assert "AccessDenied" in done.err
    assert "may list, read, write and delete objects there" in done.err
    assert not [e for e in newest(tmp_path / "here").ledger if e["event"] == "launching"]


def test_a_copy_that_fails_on_the_way_loses_no_cell_and_is_told(folder, s3, tmp_path) -> None:
    s3.world = World(faults=[Fault("PUT", "AccessDenied", only=lambda key: "cells" in key)])
    file = folder.campaign([engine("a")], matrix={"rates": []}, store=STORE)
    here = machine(folder, s3, tmp_path / "here")
    done = here.compare(file)
    run = newest(tmp_path / "here")

    assert done.code == 8
    assert "not copied yet" in done.err
    assert "the copy is not complete" in done.err
    assert kept(run) == planned(run)
    assert verify(run.folder) == ()

    s3.world = World()
    again = here.compare(file, "--resume", "latest")
    assert again.code in (0, 4, 5, 7), again.err
    assert s3.world.puts()[-1].endswith("/manifest.json")

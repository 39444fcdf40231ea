"""Where each cloud's driver is tried: fixture ``<name>_stand`` gives its site and orders."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.clouds.protocol import Order, Site
from tests.conftest import refuse_or_skip
from tests.flows.amazon.aws_endpoint import Proxy, running_aws
from tests.flows.amazon.campaigns import campaign_with
from tests.flows.remote.hosts import SshHost, end_all_below, missing

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Stand:
    site: Site
    order: Callable[[str], Order]


@pytest.fixture
def local_stand(tmp_path: Path) -> Stand:
    return Stand(
        site=Site(environment={"RUNOFF_LOCKS": str(tmp_path)}, state=tmp_path, now=lambda: NOW),
        order=lambda campaign: Order(
            host="local", campaign=campaign, run="r1", expires=NOW + dt.timedelta(hours=1)
        ),
    )


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    reason = missing()
    if reason is not None:
        refuse_or_skip(reason)
    folder = tmp_path_factory.mktemp("sshd")
    host = SshHost(folder / "host", folder)
    host.start()
    yield host
    host.stop()
    end_all_below(host.folder)


@pytest.fixture
def ssh_hosts_stand(tmp_path: Path, sshd: SshHost) -> Stand:
    return Stand(
        site=Site(environment=sshd.client(tmp_path), state=tmp_path, now=lambda: NOW),
        order=lambda campaign: Order(
            host="ssh:box", campaign=campaign, run="r1", expires=NOW + dt.timedelta(hours=1)
        ),
    )


@pytest.fixture(scope="session")
def aws_endpoint() -> Iterator[Proxy]:
    with running_aws() as proxy:
        yield proxy


@pytest.fixture
def aws_stand(aws_endpoint: Proxy, tmp_path: Path) -> Stand:
    aws_endpoint.reset()
    environment = {
        "AWS_ENDPOINT_URL": aws_endpoint.url,
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": "the-secret-of-the-test",
        "AWS_REGION": "us-east-1",
        "RUNOFF_LOOPBACK_ONLY": "1",
    }
    return Stand(
        site=Site(
            environment=environment,
            state=tmp_path,
            now=lambda: NOW,
            campaign=campaign_with(),
        ),
        order=lambda campaign: Order(
            host=None,
            offer="aws/g6.xlarge",
            campaign=campaign,
            run="r1",
            expires=NOW + dt.timedelta(hours=1),
        ),
    )

"""Runs on S3: uploaded as they complete, verified, resumed elsewhere, never half for whole."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from catalog.load import shipped_catalog
from flows.cli import run as main
from flows.errors import InfrastructureError, UsageError
from flows.s3 import Bucket, S3Place
from flows.store import Store
from flows.store.places import (
    StorePlace,
    copy_again,
    fetch_again,
    fetched_facts,
    store_place,
)
from reports.manifest import verify, write_manifest
from reports.run import layout
from reports.run.layout import RunFolder
from tests.flows.store.s3_endpoint import Fault, S3Proxy, World, running_s3
from tests.reports.history.runs import make_run

_NUMBER = itertools.count()


@pytest.fixture(scope="session")
def endpoint() -> Iterator[S3Proxy]:
    with running_s3() as proxy:
        yield proxy


@pytest.fixture
def environment(endpoint: S3Proxy, tmp_path: Path) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": "the-secret-of-the-test",
        "AWS_REGION": "us-east-1",
        "RUNOFF_LOOPBACK_ONLY": "1",
        "HOME": str(tmp_path),
    }


@pytest.fixture
def s3(endpoint: S3Proxy):
    return boto3.client(
        "s3",
        region_name="us-east-1",
        endpoint_url=f"http://127.0.0.1:{endpoint.upstream}",
        aws_access_key_id="AKIDTEST",
        aws_secret_access_key="x",
    )


@pytest.fixture
def bucket(endpoint: S3Proxy, environment, s3) -> Bucket:
    """A bucket of this test's own."""
    name = f"runs-{next(_NUMBER)}"
    s3.create_bucket(Bucket=name)
    endpoint.world = World()
    return Bucket(name, environment)


@pytest.fixture
def world(endpoint: S3Proxy, bucket: Bucket) -> World:
    return endpoint.world


def place_of(bucket: Bucket, environment, state: Path) -> StorePlace:
    return store_place(f"s3://{bucket.name}/team/runs/", state, environment)


@pytest.fixture
def place(bucket, environment, tmp_path) -> StorePlace:
    return place_of(bucket, environment, tmp_path / "state")


@pytest.fixture
def run(place, cell) -> Iterator[Store]:
    """A run that was begun, with one launch."""
    with Store.create(place.root, "demo", "20261130T120000Z-0123abcd") as store:
        store.write(layout.PLAN, "{}\n")
        store.write("launch/A/0/launch.json", "{}\n")
        store.record("launching", candidate="A")
        yield store


def mirror_of(place: StorePlace, store: Store):
    return place.mirror("demo", store.folder.path.name)


@pytest.fixture
def keep(run: Store, cell, cell_file):
    """Keeps one replication of a cell."""

    def kept() -> None:
        partial = run.partial(cell, 0)
        (partial / "0.parquet").write_text("x")
        (partial / "0.client.json").write_text("{}")
        run.keep(cell, 0, partial, cell_file)

    return kept


@pytest.fixture
def elsewhere(bucket, environment, tmp_path) -> StorePlace:
    """The same store as another machine sees it."""
    return place_of(bucket, environment, tmp_path / "other")


def conclude(store: Store) -> None:
    store.record("concluded")
    for name in (layout.SUMMARY, layout.CHECKS, layout.DECISION):
        store.write(name, "{}\n")
    write_manifest(store.folder)
    store.write(layout.REPORT_HTML, "<!doctype html>")


def names(bucket: Bucket) -> set[str]:
    return {key.split("/", 4)[4] for key in bucket.keys("team/runs/demo/")}


def test_an_object_is_what_was_written_and_its_digest_is_told(bucket, s3) -> None:
    content = bytes(range(256)) * 40

    assert bucket.put("a/b", content) == hashlib.sha256(content).hexdigest()
    assert bucket.get("a/b") == content
    assert bucket.sha256("a/b") == hashlib.sha256(content).hexdigest()
    assert bucket.sha256("a") is None
    assert list(bucket.keys("a/")) == ["a/b"]
    assert bucket.folders("") == ("a",)
    bucket.delete("a/b")
    assert list(bucket.keys("")) == []


def test_more_keys_than_one_answer_holds_are_all_listed(bucket, s3) -> None:
    for number in range(1003):
        s3.put_object(Bucket=bucket.name, Key=f"k/{number:04d}", Body=b"")

    assert len(list(bucket.keys("k/"))) == 1003


@pytest.mark.parametrize("kind", ["cut", "changed"])
def test_an_object_that_comes_half_or_changed_is_never_taken(bucket, world, kind) -> None:
    bucket.put("a", b"content" * 1000)
    world.faults.append(Fault("GET", kind))

    with pytest.raises(InfrastructureError, match=r"damaged or in part|not what its SHA-256"):
        bucket.get("a")


def test_an_object_of_somebody_else_is_not_taken_for_a_file_of_a_run(bucket, s3) -> None:
    s3.put_object(Bucket=bucket.name, Key="a", Body=b"x", ChecksumAlgorithm="CRC32")

    with pytest.raises(InfrastructureError, match="no SHA-256"):
        bucket.get("a")


def test_a_write_whose_answer_is_lost_is_written_once_more_and_confirmed(bucket, world) -> None:
    world.faults.append(Fault("PUT", "lost", times=1))

    assert bucket.put("a", b"x") == hashlib.sha256(b"x").hexdigest()
    assert [method for method, _ in world.seen] == ["PUT", "PUT"]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("AccessDenied", "may list, read, write and delete"),
        ("RequestTimeTooSkewed", "clock"),
        ("PermanentRedirect", "another region"),
        ("InvalidAccessKeyId", "Renew the credentials"),
        ("BadDigest", "--resume"),
    ],
)
def test_refusals_are_explained(bucket, world, code, advice) -> None:
    world.faults.append(Fault("PUT", code))

    with pytest.raises(InfrastructureError, match=code) as told:
        bucket.put("a", b"x")
    assert advice in told.value.do
    assert told.value.where == f"s3://{bucket.name}/a"


def test_a_bucket_that_is_not_there_is_explained(environment, world) -> None:
    with pytest.raises(InfrastructureError, match="NoSuchBucket") as told:
        Bucket("nobody-has-made-this", environment).put("a", b"x")
    assert "Make the bucket" in told.value.do


def test_an_address_for_s3_alone_goes_before_the_one_for_all(bucket, environment) -> None:
    own = {"AWS_ENDPOINT_URL_S3": environment["AWS_ENDPOINT_URL"]}
    there = Bucket(
        bucket.name, {**environment, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", **own}
    )

    assert list(there.keys("")) == []


def test_without_credentials_the_error_says_so(endpoint, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bare = {"AWS_ENDPOINT_URL": endpoint.url, "RUNOFF_LOOPBACK_ONLY": "1"}

    with pytest.raises(InfrastructureError, match="NoCredentials"):
        Bucket("b", bare).put("a", b"x")


@pytest.mark.parametrize("url", ["s3://", "s3:///a", "s3://b/../c"])
def test_a_place_without_a_bucket_is_refused(url) -> None:
    with pytest.raises(UsageError, match="names no bucket"):
        S3Place.of(url)


def test_a_store_is_a_folder_unless_it_is_a_bucket(tmp_path) -> None:
    assert store_place("runs", tmp_path, {}).root == Path("runs")
    assert store_place("runs", tmp_path, {}).mirror("a", "b") is None
    there = store_place("s3://b/x/y", tmp_path, {})
    assert there.root == tmp_path / "stores" / "b" / "x" / "y"
    assert there.name == "s3://b/x/y"


def test_a_run_is_copied_as_it_completes(place, run, world, cell, keep) -> None:
    mirror = mirror_of(place, run)
    mirror.follow()
    assert len(world.puts()) == 3

    run.tell(mirror.follow)
    world.seen.clear()
    run.record("measured")
    keep()
    folder = f"team/runs/demo/{run.folder.path.name}/"
    sent = [key.removeprefix(folder) for key in world.puts()]

    assert sent == [
        f"cells/{cell.folder}/0.client.json",
        f"cells/{cell.folder}/0.parquet",
        f"cells/{cell.folder}/0.cell.json",
        "ledger.jsonl",
    ]


def test_the_manifest_comes_last_and_nothing_that_lies_there_is_sent_again(
    place, run, bucket, world, keep
) -> None:
    mirror = mirror_of(place, run)
    keep()
    mirror.follow()
    conclude(run)
    world.seen.clear()
    mirror.follow()
    assert [key.rpartition("/")[2] for key in world.puts()] == ["ledger.jsonl"]

    mirror.complete()
    assert world.puts()[-1].endswith("/manifest.json")
    assert {"summary.json", "report.html", "manifest.json"} <= names(bucket)

    world.seen.clear()
    mirror.complete()
    mirror_of(place, run).complete()  # another process, which has sent nothing itself
    assert world.puts() == []


def test_what_is_not_whole_is_never_copied(place, run, bucket, cell) -> None:
    run.partial(cell, 1).joinpath("1.parquet").write_text("half")
    torn = run.folder.replication(cell, 2, "parquet")
    torn.parent.mkdir(parents=True)
    torn.write_text("without a cell.json")
    (run.folder.path / ".plan.json.77").write_text("aside")
    with run.folder.file(layout.LEDGER).open("a") as ledger:
        ledger.write('{"at": "torn')
    mirror_of(place, run).complete()

    assert names(bucket) == {"plan.json", "ledger.jsonl", "launch/A/0/launch.json"}
    key = f"team/runs/demo/{run.folder.path.name}/ledger.jsonl"
    assert b"torn" not in bucket.get(key)


def test_a_copy_that_goes_on_has_no_manifest_until_it_is_complete_again(
    place, run, bucket, keep
) -> None:
    conclude(run)
    mirror_of(place, run).complete()
    assert "manifest.json" in names(bucket)

    keep()
    mirror_of(place, run).follow()

    assert "manifest.json" not in names(bucket)


def test_a_signoff_reaches_the_copy_and_its_manifest_stays(place, run, bucket, world) -> None:
    conclude(run)
    mirror = mirror_of(place, run)
    mirror.complete()
    world.seen.clear()
    run.write(layout.SIGNOFF, "{}\n")
    mirror.complete()

    assert [method for method, _ in world.seen] == ["HEAD", "PUT"]
    assert {"signoff.json", "manifest.json"} <= names(bucket)


def test_a_manifest_that_had_to_go_comes_back_last(place, run, bucket, world) -> None:
    conclude(run)
    mirror = mirror_of(place, run)
    mirror.complete()
    world.seen.clear()
    run.record("resumed")
    mirror.complete()

    assert [key.rpartition("/")[2] for key in world.puts()] == ["ledger.jsonl", "manifest.json"]
    assert [method for method, _ in world.seen[:2]] == ["HEAD", "DELETE"]


def test_a_run_before_a_bucket_is_copied_by_its_folder(
    place, run, bucket, environment, tmp_path
) -> None:
    conclude(run)
    told = copy_again(run.folder, tmp_path / "state", environment)

    assert told == f"s3://{bucket.name}/team/runs/demo/{run.folder.path.name}"
    assert "manifest.json" in names(bucket)
    assert copy_again(RunFolder(tmp_path / "runs" / "a" / "b"), tmp_path, environment) is None


def test_a_log_that_was_packed_away_is_not_left_in_a_complete_copy(
    place, run, bucket, elsewhere, s3
) -> None:
    log = run.folder.path / "launch" / "A" / "0" / "server.log"
    log.write_text("as it ran")
    mirror = mirror_of(place, run)
    mirror.follow()
    assert "launch/A/0/server.log" in names(bucket)
    key = f"team/runs/demo/{run.folder.path.name}/notes.txt"
    s3.put_object(Bucket=bucket.name, Key=key, Body=b"a colleague's")
    log.unlink()
    conclude(run)
    mirror_of(place, run).complete()  # as another process, after a crash

    assert "launch/A/0/server.log" not in names(bucket)
    assert "notes.txt" in names(bucket)
    s3.delete_object(Bucket=bucket.name, Key=key)
    name = elsewhere.bring("demo", "latest")
    assert verify(RunFolder(elsewhere.root / "demo" / name)) == ()


def test_a_run_that_was_concluded_elsewhere_is_whole_where_it_was_begun(
    place, run, elsewhere
) -> None:
    log = run.folder.path / "launch" / "A" / "0" / "server.log"
    log.write_text("as it ran")
    mirror_of(place, run).follow()
    name = elsewhere.bring("demo", "latest")
    with Store.open(elsewhere.root / "demo" / name) as store:
        store.record("resumed", why="there")
        (store.folder.path / "launch" / "A" / "0" / "server.log").unlink()
        conclude(store)
        elsewhere.mirror("demo", name).complete()

    place.bring("demo", "latest")
    assert not log.exists()
    assert verify(run.folder) == ()


def test_a_failed_upload_is_made_up_for_later(place, run, bucket, world, keep) -> None:
    mirror = mirror_of(place, run)
    mirror.follow()
    world.faults.append(Fault("PUT", "AccessDenied", only=lambda path: "parquet" in path))
    keep()
    with pytest.raises(InfrastructureError):
        mirror.follow()
    assert not any(name.endswith("cell.json") for name in names(bucket))

    world.faults.clear()
    mirror.follow()
    assert any(name.endswith("0.cell.json") for name in names(bucket))


def test_another_machine_goes_on_where_the_copy_ends(place, run, elsewhere, cell, keep) -> None:
    keep()
    conclude(run)
    mirror_of(place, run).complete()

    name = elsewhere.bring("demo", "latest")
    folder = elsewhere.root / "demo" / name

    assert name == run.folder.path.name
    assert verify(RunFolder(folder)) == ()
    with Store.open(folder) as store:
        assert store.discard_partials() == ()
        assert store.is_complete(cell, 0)


def test_a_fetch_that_was_cut_is_taken_up_again(place, run, world, elsewhere, keep) -> None:
    keep()
    mirror_of(place, run).complete()
    world.faults.append(Fault("GET", "cut", only=lambda path: path.endswith("cell.json")))
    with pytest.raises(InfrastructureError):
        elsewhere.bring("demo", "latest")
    folder = elsewhere.root / "demo" / run.folder.path.name
    assert not (folder / layout.LEDGER).exists()

    world.faults.clear()
    elsewhere.bring("demo", "latest")

    with Store.open(folder) as store:
        assert store.discard_partials() == ()
        assert len(list(folder.glob("cells/*/0.*"))) == 3


def test_what_is_further_here_is_not_overwritten(place, run, bucket) -> None:
    mirror = mirror_of(place, run)
    mirror.complete()
    run.record("measured")
    before = run.folder.file(layout.LEDGER).read_bytes()

    assert mirror.fetch() is False
    assert run.folder.file(layout.LEDGER).read_bytes() == before


def test_a_run_that_went_on_in_two_places_is_refused(place, run, elsewhere) -> None:
    mirror_of(place, run).complete()
    name = elsewhere.bring("demo", "latest")
    with Store.open(elsewhere.root / "demo" / name) as store:
        store.record("resumed", why="there")
        elsewhere.mirror("demo", name).complete()
    run.record("resumed", why="here")

    with pytest.raises(UsageError, match="apart from each other"):
        place.bring("demo", name)


@pytest.fixture
def gone_on(place, run, elsewhere) -> str:
    """A run that was concluded elsewhere, while here it ended before."""
    mirror_of(place, run).complete()
    name = elsewhere.bring("demo", "latest")
    with Store.open(elsewhere.root / "demo" / name) as store:
        store.record("resumed", why="there")
        conclude(store)
        elsewhere.mirror("demo", name).complete()
    return name


@pytest.fixture
def here(environment, tmp_path) -> tuple[Path, dict[str, str]]:
    """State and environment of this machine."""
    return tmp_path / "state", environment


@pytest.mark.usefixtures("gone_on")
def test_a_copy_that_went_on_elsewhere_is_never_overwritten(place, run, world, here) -> None:
    world.seen.clear()
    run.record("resumed", why="here")
    run.write(layout.REPORT_HTML, "<!doctype html>")

    for copying in (
        mirror_of(place, run).follow,
        lambda: copy_again(run.folder, *here),
    ):
        with pytest.raises(InfrastructureError, match="apart from each other"):
            copying()
    assert not {method for method, _ in world.seen} & {"PUT", "DELETE"}


def test_who_is_overtaken_while_copying_stops(place, run, bucket, elsewhere) -> None:
    mirror = mirror_of(place, run)
    mirror.follow()
    name = elsewhere.bring("demo", "latest")
    with Store.open(elsewhere.root / "demo" / name) as store:
        store.record("resumed", why="there")
        elsewhere.mirror("demo", name).follow()
    run.record("measured")

    with pytest.raises(InfrastructureError, match="apart from each other"):
        mirror.follow()


@pytest.mark.parametrize("is_address", [True, False])
def test_a_run_that_is_resumed_by_where_it_lies_is_fetched_first(
    place, run, gone_on, is_address
) -> None:
    wanted = f"{place.name}/demo/{gone_on}" if is_address else str(run.folder.path)

    assert place.bring("demo", wanted) == gone_on
    assert run.folder.file(layout.DECISION).is_file()


def signoff(*names: str) -> str:
    return json.dumps({"approvals": [{"by": name} for name in names]})


def test_what_was_signed_elsewhere_is_fetched_before_more_is_signed(
    run, gone_on, elsewhere, here, tmp_path
) -> None:
    assert fetch_again(run.folder, *here)  # it went on: nobody signs what they have not seen
    there = RunFolder(elsewhere.root / "demo" / gone_on)
    there.file(layout.SIGNOFF).write_text(signoff("Ada"))
    copy_again(there, tmp_path / "other", here[1])

    assert not fetch_again(run.folder, *here)
    assert run.folder.file(layout.SIGNOFF).read_text() == signoff("Ada")

    run.write(layout.SIGNOFF, signoff("Ada", "Grace"))
    assert not fetch_again(run.folder, *here)
    assert run.folder.file(layout.SIGNOFF).read_text() == signoff("Ada", "Grace")

    run.write(layout.SIGNOFF, signoff("Grace"))
    with pytest.raises(UsageError, match="others have signed elsewhere"):
        fetch_again(run.folder, *here)


def test_a_key_that_leads_out_of_the_run_is_not_fetched(
    place, run, bucket, elsewhere, tmp_path
) -> None:
    mirror_of(place, run).complete()
    bucket.put(f"team/runs/demo/{run.folder.path.name}/../../../evil", b"x")
    elsewhere.bring("demo", "latest")

    assert not list((tmp_path / "other").rglob("evil"))


def test_a_run_of_which_there_is_no_copy_is_left_to_the_search_here(place, bucket) -> None:
    assert place.bring("demo", "latest") == "latest"
    assert place.bring("demo", "20261130T120000Z-0123abcd") == "20261130T120000Z-0123abcd"


def test_a_history_fetches_what_it_reads_once(bucket, world, environment, tmp_path) -> None:
    made = make_run(tmp_path / "made", 0).path
    gone = make_run(tmp_path / "made", 1).path
    for path in (each for each in (tmp_path / "made").rglob("*") if each.is_file()):
        bucket.put(f"p/{path.relative_to(tmp_path / 'made').as_posix()}", path.read_bytes())
    run = f"p/nightly/{made.name}"
    bucket.put(f"{run}/launch/B/0/plan.json", b"{}")
    bucket.put(f"{run}/hosts/b/system.json", b"{}")
    bucket.put("p/../evil/plan.json", b"{}")
    url = f"s3://{bucket.name}/p"
    folder = fetched_facts(url, tmp_path / "cache", environment)
    found = {each.relative_to(folder).as_posix() for each in folder.rglob("*.json")}

    names = {"plan.json", "summary.json", "decision.json", "manifest.json"}
    assert found == {f"nightly/{run.name}/{name}" for run in (made, gone) for name in names} | {
        f"nightly/{made.name}/hosts/b/system.json"
    }

    for key in list(bucket.keys(f"p/nightly/{gone.name}/")):
        bucket.delete(key)
    world.seen.clear()
    fetched_facts(url, tmp_path / "cache", environment)
    assert [method for method, _ in world.seen] == ["GET"]  # the list alone
    assert len(list(folder.rglob("plan.json"))) == 1

    bucket.put(f"{run}/plan.json", b"{} ")
    fetched_facts(url, tmp_path / "cache", environment)
    assert (folder / "nightly" / made.name / "plan.json").read_bytes() == b"{} "


@pytest.mark.e2e
def test_a_bucket_that_cannot_be_used_is_told_before_a_campaign_starts(
    bucket, environment, tmp_path, monkeypatch, capsys
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    text = (shipped_catalog() / "campaigns" / "local.yaml").read_text()
    file = tmp_path / "local.yaml"

    for name, is_told in ((bucket.name, False), ("nobody-has-made-this", True)):
        file.write_text(f"{text}\nstore: s3://{name}/x\n")
        main(["doctor", str(file)])
        assert ("NoSuchBucket" in capsys.readouterr().out) is is_told


def test_a_bucket_has_a_history(bucket, environment, tmp_path, monkeypatch, capsys) -> None:
    made = make_run(tmp_path / "made", 0).path
    for path in (each for each in made.rglob("*") if each.is_file()):
        bucket.put(f"p/nightly/{made.name}/{path.name}", path.read_bytes())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))

    assert main(["history", f"s3://{bucket.name}/p", "--out", str(tmp_path / "site")]) == 0
    assert "1 runs (1 concluded), 1 of them read" in capsys.readouterr().out
    assert (tmp_path / "site" / "nightly.html").is_file()

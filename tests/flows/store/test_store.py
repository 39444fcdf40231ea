from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.errors import InfrastructureError, UsageError
from flows.store import Store, find_run, fingerprint8, run_name
from flows.store.ledger import Ledger
from reports.run.cell_file import CellFile
from reports.run.layout import CellName
from reports.run.ledger_file import read_ledger
from reports.run.read import read_file

ROOT = Path(__file__).parents[3]
NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


def measured(store: Store, cell: CellName, replication: int = 0) -> Path:
    partial = store.partial(cell, replication)
    for ending in ("parquet", "client.json", "server.json"):
        (partial / f"{replication}.{ending}").write_bytes(ending.encode() * 100)
    return partial


def test_a_written_file_is_there_and_nothing_is_left_aside(store: Store) -> None:
    store.write("hosts/local/system.json", "{}\n")
    store.write("hosts/local/system.json", '{"a": 1}\n')

    assert (store.folder.host("local") / "system.json").read_text() == '{"a": 1}\n'
    assert list((store.folder.path / ".partial").iterdir()) == []


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", ""])
def test_no_name_leads_out_of_the_run(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="no name inside"):
        store.write(name, "x")


def test_a_kept_replication_is_complete_and_holds_the_hash_of_each_file(
    store: Store, cell: CellName, cell_file: CellFile
) -> None:
    assert not store.is_complete(cell, 0)

    store.keep(cell, 0, measured(store, cell), cell_file)

    kept = read_file(store.folder.replication(cell, 0, "cell.json"), CellFile)
    assert store.is_complete(cell, 0)
    assert sorted(kept.files) == ["0.client.json", "0.parquet", "0.server.json"]
    assert not store.is_complete(cell, 1)


def test_a_replication_is_kept_once(store: Store, cell: CellName, cell_file: CellFile) -> None:
    store.keep(cell, 0, measured(store, cell), cell_file)

    with pytest.raises(ValueError, match="kept already"):
        store.keep(cell, 0, measured(store, cell), cell_file)


def test_a_replication_of_other_identity_is_not_complete(
    store: Store, cell: CellName, cell_file: CellFile
) -> None:
    other = cell_file.model_copy(update={"key": "ffffffff"})

    store.keep(cell, 0, measured(store, cell), other)

    assert not store.is_complete(cell, 0)


@pytest.mark.parametrize("ending", ["parquet", "client.json", "server.json", "cell.json"])
@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_replication_with_one_harmed_file_is_not_complete_and_is_discarded(
    store: Store, cell: CellName, cell_file: CellFile, ending: str, harm: str
) -> None:
    store.keep(cell, 0, measured(store, cell), cell_file)
    path = store.folder.replication(cell, 0, ending)
    path.unlink() if harm == "gone" else path.write_bytes(path.read_bytes()[:-2])

    assert not store.is_complete(cell, 0)
    assert store.discard_partials() == (f"{cell.folder}/0",)
    assert list(store.folder.cell(cell).iterdir()) == []


def test_what_was_half_measured_is_discarded_and_what_was_kept_stays(
    store: Store, cell: CellName, cell_file: CellFile
) -> None:
    store.keep(cell, 0, measured(store, cell), cell_file)
    measured(store, cell, 1)

    assert store.discard_partials() == (f"{cell.folder}/1",)
    assert store.is_complete(cell, 0)
    assert store.discard_partials() == ()


def test_a_partial_folder_is_always_empty(store: Store, cell: CellName) -> None:
    measured(store, cell)

    assert list(store.partial(cell, 0).iterdir()) == []


def test_an_entry_is_in_the_ledger_when_the_call_returns(store: Store) -> None:
    store.record("measuring", candidate="A", replication=0)
    store.record("spent", usd=0.5)

    entries = read_ledger(store.folder.file("ledger.jsonl"))
    assert [entry["event"] for entry in entries] == ["measuring", "spent"]
    assert entries[0] == {
        "at": "2026-11-30T12:00:00.000000+00:00",
        "event": "measuring",
        "candidate": "A",
        "replication": 0,
    }


def test_threads_write_whole_lines_and_files(store: Store) -> None:
    def work(number: int) -> None:
        for step in range(20):
            store.record("measured", thread=number, step=step)
            store.write("summary.json", f"{number}\n" * 200)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    entries = read_ledger(store.folder.file("ledger.jsonl"))
    assert len({(entry["thread"], entry["step"]) for entry in entries}) == 160
    text = (store.folder.path / "summary.json").read_text()
    assert text == text[:2] * 200


@given(torn=st.binary(max_size=40).filter(lambda text: b"\n" not in text))
def test_a_torn_last_line_is_cut_off_whatever_it_holds(
    tmp_path_factory: pytest.TempPathFactory, torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    whole = b'{"event": "a"}\n{"event": "b"}\n'
    path.write_bytes(whole + torn)

    ledger = Ledger(path)
    assert path.read_bytes() == whole
    ledger.append(NOW, "c", {})
    ledger.close()
    assert [entry["event"] for entry in read_ledger(path)] == ["a", "b", "c"]


def test_a_last_block_that_the_disk_lost_is_cut_off_too(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"event": "a"}\n' + b"\0" * 30 + b"\n")

    Ledger(path).close()

    assert path.read_bytes() == b'{"event": "a"}\n'


def test_two_processes_never_write_one_run(store: Store) -> None:
    path = store.folder.path
    opens = (
        "import sys; from pathlib import Path; from flows.store import Store\n"
        "Store.open(Path(sys.argv[1]))"
    )

    def second() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", opens, str(path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    refused = second()
    assert "another process writes this run" in refused.stderr
    store.close()
    assert second().returncode == 0


def test_a_store_that_is_open_is_not_opened_again_in_its_own_process(store: Store) -> None:
    with pytest.raises(InfrastructureError, match="another process"):
        Store.open(store.folder.path)


def test_a_run_is_created_once(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UsageError, match="a run of that name exists"):
        Store.create(tmp_path / "runs", "demo", "r1")


def test_a_folder_without_a_plan_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no plan\.json"):
        Store.open(tmp_path)


def test_a_runs_name_sorts_by_time_and_holds_the_fingerprint() -> None:
    mark = fingerprint8(b"campaign", "digest")
    first, second = run_name(NOW, mark), run_name(NOW + dt.timedelta(seconds=1), mark)

    assert first == f"20261130T120000Z-{mark}"
    assert first < second
    assert mark != fingerprint8(b"campaign", "other")
    assert mark != fingerprint8(b"campaign", "digest", rehearsal=True)


def test_latest_is_the_newest_run_that_has_a_plan(tmp_path: Path) -> None:
    for second in (1, 2, 3):
        path = tmp_path / "demo" / f"20261130T12000{second}Z-0123abcd"
        path.mkdir(parents=True)
        if second < 3:
            (path / "plan.json").write_text("{}")

    assert find_run(tmp_path, "demo", "latest").name == "20261130T120002Z-0123abcd"
    by_name = find_run(tmp_path, "demo", "20261130T120001Z-0123abcd")
    assert find_run(tmp_path, "demo", str(by_name)) == by_name


def test_a_run_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="None was started"):
        find_run(tmp_path, "demo", "latest")
    path = tmp_path / "demo" / "20261130T120001Z-0123abcd"
    path.mkdir(parents=True)
    (path / "plan.json").write_text("{}")

    with pytest.raises(UsageError, match="20261130T120001Z-0123abcd"):
        find_run(tmp_path, "demo", "r9")


FULL = """
import json, resource, sys
from pathlib import Path
from flows.errors import InfrastructureError
from flows.store import Store
from reports.run.cell_file import AskedCell, AskedSlo, CellFile
from reports.run.layout import CellName

store = Store.open(Path(sys.argv[1]))
cell = CellName(candidate="A", load_point="closed-1", key="0123abcd")

def keep(replication):
    partial = store.partial(cell, replication)
    (partial / f"{replication}.parquet").write_text("records")
    store.keep(cell, replication, partial, CellFile(
        run="r", candidate="A", load_point="closed-1", key="0123abcd",
        replication=replication, launch="l", host="local", load_host="local",
        position=0, seed=1, basis="simulation", started_at="", ended_at="",
        asked=AskedCell(slo=AskedSlo(), arrival="closed"), files={}))

keep(0)
store.write("kept.json", "{}")
store.record("measuring", candidate="A")
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
seen = []
for act in (
    lambda: store.write("kept.json", "x" * 1000),
    lambda: store.record("measuring", candidate="A" * 1000),
    lambda: keep(1),
):
    try:
        act()
    except InfrastructureError as error:
        seen.append(str(error))
store.record("stopped")
assert store.is_complete(cell, 0)
assert not store.is_complete(cell, 1)
print(json.dumps(seen))
"""


def test_a_disk_that_takes_no_more_is_told_and_loses_nothing(store: Store) -> None:
    store.close()
    path = store.folder.path

    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    told = json.loads(ran.stdout)
    assert len(told) == 3
    assert all("cannot be written: File too large" in each for each in told)
    assert all("continue with --resume" in each for each in told)
    assert (path / "kept.json").read_text() == "{}"
    events = [entry["event"] for entry in read_ledger(path / "ledger.jsonl")]
    assert events == ["measuring", "stopped"]
    with Store.open(path) as again:
        assert again.discard_partials() == ("A--closed-1--0123abcd/1",)

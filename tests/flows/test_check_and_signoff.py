"""A run is checked, approved and signed; any later change of any file is told."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.check_run import Row, check_run
from flows.cli import run as runoff
from flows.run_plan.kept import altered_clauses
from flows.signing import read_signoff
from flows.ssh_signature import blocks
from reports.conclude import conclude
from reports.manifest import manifest_sha256, write_manifest
from reports.render import render_run
from reports.run import layout
from reports.run.cell_file import CellFile
from reports.run.checks_file import Check, Checks
from reports.run.layout import RunFolder
from reports.run.plan_file import ContractFacts, QualityFacts
from reports.run.read import file_text, read_file, read_run
from tests.reports.run.builder import (
    CLOSED,
    CONTRACT,
    NOW,
    QUICK,
    B,
    C,
    Made,
    build_run,
    priced,
)

FRESH = priced(3.67, date=dt.datetime.now(dt.UTC).date().isoformat())
VERSION = "0.1.0"  # of the runoff that the built runs say has made them
WHO = ["--by", "Ada Lovelace", "--role", "Platform lead"]
WHAT = ["--statement", "Approved for the chat service in Frankfurt"]


def finished(root: Path, *made: Made, **options: Any) -> RunFolder:
    folder = build_run(root, made, **{"points": (CLOSED[4],), **options})
    conclude(folder, now=NOW)
    render_run(folder, now=NOW)
    return folder


@pytest.fixture(scope="module")
def _signable(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished(tmp_path_factory.mktemp("signable"), Made(name="B", price=FRESH))


@pytest.fixture(scope="module")
def _small(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Two candidates, few requests: it cannot be signed, but everything is in it."""
    root = tmp_path_factory.mktemp("small")
    return finished(root, B, C, replications=1, exploratory=True, **QUICK)


def copied(folder: RunFolder, target: Path) -> RunFolder:
    shutil.copytree(folder.path, target, symlinks=True)
    return RunFolder(target)


@pytest.fixture
def signable(_signable: RunFolder, tmp_path: Path) -> RunFolder:
    return copied(_signable, tmp_path / "run")


@pytest.fixture
def small(_small: RunFolder, tmp_path: Path) -> RunFolder:
    return copied(_small, tmp_path / "run")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "ada")


def new_key(path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        missing = pytest.fail if os.environ.get("RUNOFF_REQUIRE_ALL") else pytest.skip
        missing("no ssh-keygen: install Debian's package openssh-client")
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", path], check=True
    )
    return path


def allowed(folder: Path, **keys: Path) -> Path:
    lines = [
        f"{who}@example.org {key.with_suffix('.pub').read_text()}" for who, key in keys.items()
    ]
    path = folder / "allowed_signers"
    path.write_text("".join(lines))
    return path


def today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def checked(folder: RunFolder, signers: Path | None = None) -> list[Row]:
    return list(check_run(folder, version=VERSION, today=today(), allowed=signers))


def failures(folder: RunFolder, signers: Path | None = None) -> list[tuple[str, str]]:
    return [(row.id, row.of) for row in checked(folder, signers) if row.verdict == "fail"]


def sign(folder: RunFolder, *more: str) -> int:
    return runoff(["signoff", str(folder.path), *WHO, *WHAT, *more])


def files_of(folder: RunFolder) -> list[str]:
    inside = (path for path in folder.path.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder.path).as_posix() for path in inside)


def state(folder: RunFolder) -> dict[str, tuple[bytes, int]]:
    return {
        name: (folder.file(name).read_bytes(), folder.file(name).stat().st_mtime_ns)
        for name in files_of(folder)
    }


def test_a_run_as_it_was_made_passes_and_check_writes_nothing(small: RunFolder, capsys) -> None:
    before = state(small)

    assert runoff(["check", str(small.path)]) == 0
    assert "every file is as it was written" in capsys.readouterr().out
    assert state(small) == before


def test_check_says_its_rows_as_json(small: RunFolder, capsys) -> None:
    assert runoff(["check", str(small.path), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "pass"
    assert {"manifest", "files", "cells", "contract", "conclusion", "pages", "signoff"} <= {
        row["id"] for row in found["rows"]
    }


def spoilt(content: bytes) -> dict[str, bytes | None]:
    """What can become of a file: a bit here or there, more, less, nothing, gone."""
    middle = len(content) // 2
    return {
        "first bit": bytes([content[0] ^ 1]) + content[1:],
        "middle bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "last bit": content[:-1] + bytes([content[-1] ^ 1]),
        "one byte more": content + b" ",
        "one byte less": content[:-1],
        "nothing in it": b"",
        "gone": None,
    }


def test_any_change_of_any_file_of_the_evidence_is_told(small: RunFolder) -> None:
    names = [name for name in files_of(small) if name not in layout.OUTSIDE_MANIFEST]
    assert {Path(name).suffix for name in names} >= {".parquet", ".json", ".yaml", ".jsonl"}
    for name in names:
        path = small.file(name)
        content = path.read_bytes()
        for how, changed in spoilt(content).items():
            if changed is None:
                path.unlink()
            else:
                path.write_bytes(changed)
            if name == layout.PLAN and changed is None:
                assert runoff(["check", str(small.path)]) == 2  # no run any more
            else:
                assert ("manifest", name) in failures(small), (name, how)
            path.write_bytes(content)
    assert failures(small) == []


@pytest.mark.parametrize("name", [layout.REPORT_HTML, layout.REPORT_MARKDOWN, layout.JUNIT])
def test_a_page_that_says_something_else_is_told(small: RunFolder, name: str) -> None:
    path = small.file(name)
    path.write_bytes(path.read_bytes().replace(b"B", b"C", 1))

    assert failures(small) == [("pages", name)]


def test_a_page_of_another_runoff_says_nothing_either_way(small: RunFolder) -> None:
    small.file(layout.REPORT_HTML).write_text("<!doctype html>another layout")
    rows = {row.id: row for row in check_run(small, version="9.9.9", today=today())}

    assert rows["pages"].verdict == "unknown"


def test_a_decision_that_the_evidence_does_not_give_is_told_behind_a_new_manifest(
    small: RunFolder,
) -> None:
    decision = json.loads(small.file(layout.DECISION).read_text())
    decision["sentence"] = "C is chosen."
    small.file(layout.DECISION).write_text(json.dumps(decision))
    render_run(small, now=NOW)

    rows = checked(small)
    assert [(row.id, row.of) for row in rows if row.verdict == "fail"] == [
        ("conclusion", layout.DECISION)
    ]
    assert any("sentence" in row.seen for row in rows)


def test_records_that_were_exchanged_are_told_behind_a_new_manifest(small: RunFolder) -> None:
    first, second = sorted(small.path.glob("cells/B--*/0.parquet"))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    write_manifest(small)

    assert [identity for identity, _ in failures(small)] == ["cells", "cells"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plan.json", b'{"schema_version": 1}'),
        ("hosts/host-B/system.json", b'{"schema_version": 7}'),
        ("gates.json", b"[]"),
        ("ledger.jsonl", b"nothing\n{}\n"),
        ("decision.json", b'{"outcome": "chosen"}'),
        ("launch/B/0/launch.json", b'{"state": NaN}'),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_told_behind_a_new_manifest(
    small: RunFolder, name: str, content: bytes
) -> None:
    small.file(name).write_bytes(content)
    write_manifest(small)

    assert ("files", name) in failures(small)


@pytest.mark.parametrize("ending", ["parquet", "telemetry.parquet"])
def test_a_table_that_is_none_is_told_behind_a_new_manifest(
    small: RunFolder, ending: str
) -> None:
    cell = next(small.path.glob("cells/B--*"))
    (cell / f"0.{ending}").write_bytes(b"PAR1 is how it begins")
    write_manifest(small)

    assert ("files", f"cells/{cell.name}/0.{ending}") in failures(small)


def test_an_evidence_check_that_decides_and_fails_ends_with_7(small: RunFolder) -> None:
    checks = read_run(small.path).checks
    (first, *rest) = checks.checks
    failed = first.model_copy(update={"verdict": "fail", "decisive": True})
    small.file(layout.CHECKS).write_text(file_text(Checks(checks=(failed, *rest))))
    write_manifest(small)

    assert ("evidence", failed.name) in failures(small)
    assert runoff(["check", str(small.path)]) == 7


def test_another_candidates_lost_quality_is_noted_and_fails_nothing(small: RunFolder) -> None:
    lost = Check(
        id="quality",
        requirement="answers are as good",
        observed="loses 9 points",
        needed="at most 1",
        verdict="fail",
        candidate="somebody else",
        decisive=True,
    )
    checks = read_run(small.path).checks.checks
    small.file(layout.CHECKS).write_text(file_text(Checks(checks=(*checks, lost))))
    write_manifest(small)

    rows = [(row.verdict, row.of) for row in checked(small) if row.id == "evidence"]
    assert ("note", lost.name) in rows


def test_what_is_no_run_is_refused_as_usage(tmp_path: Path, capsys) -> None:
    assert runoff(["check", str(tmp_path)]) == 2
    assert "it holds no plan.json" in capsys.readouterr().err


def test_a_run_is_approved_and_its_manifest_is_what_is_approved(
    signable: RunFolder, capsys
) -> None:
    assert sign(signable) == 0

    signoff = read_signoff(signable)
    assert signoff is not None
    assert signoff.manifest_sha256 == manifest_sha256(signable)
    assert signoff.manifest_sha256 in capsys.readouterr().out
    assert failures(signable) == []
    assert "SIGNED" in signable.file(layout.REPORT_HTML).read_text()


def test_a_change_after_the_approval_is_told_and_named(signable: RunFolder) -> None:
    assert sign(signable) == 0
    host = next(signable.path.glob("hosts/*/system.json"))
    host.write_text(host.read_text().replace("550.54.15", "550.54.14"))

    found = failures(signable)
    assert ("manifest", host.relative_to(signable.path).as_posix()) in found
    assert ("signoff", layout.SIGNOFF) in found


def test_a_new_manifest_after_the_approval_is_not_the_approved_one(
    signable: RunFolder,
) -> None:
    assert sign(signable) == 0
    (signable.path / "hosts" / "note.txt").write_text("added later")
    write_manifest(signable)

    rows = [row for row in checked(signable) if row.verdict == "fail"]
    assert any("approves the manifest" in row.seen for row in rows)


def test_any_change_of_a_signed_signoff_is_told(signable: RunFolder, key: Path) -> None:
    assert sign(signable, "--key", str(key)) == 0
    content = signable.file(layout.SIGNOFF).read_bytes()
    for how, changed in spoilt(content).items():
        if changed is not None:
            signable.file(layout.SIGNOFF).write_bytes(changed)
            told = {identity for identity, _ in failures(signable)}
            assert told & {"signoff", "signature"}, how
    signable.file(layout.SIGNOFF).write_bytes(content)
    assert failures(signable) == []


def test_a_run_that_has_changed_is_not_signed(signable: RunFolder, capsys) -> None:
    signable.file(layout.GATES).write_text("{}")

    assert sign(signable) == 7
    assert "gates.json is changed" in capsys.readouterr().out
    assert not signable.file(layout.SIGNOFF).exists()


def test_an_exploratory_run_is_not_signed_and_nothing_is_written(
    small: RunFolder, key: Path, capsys
) -> None:
    before = state(small)

    assert sign(small, "--key", str(key), "--json") == 7

    reasons = json.loads(capsys.readouterr().out)["refused"]
    assert "stamp" in {reason["rule"] for reason in reasons}
    assert state(small) == before


def test_a_rehearsal_is_not_signed(tmp_path: Path, capsys) -> None:
    folder = finished(tmp_path, Made(name="B", price=FRESH), rehearsal=True, **QUICK)

    assert sign(folder) == 7
    assert "REHEARSAL" in capsys.readouterr().out


@pytest.mark.parametrize(
    "facts",
    [{"is_moe": True}, {"is_speculative": True}, {"is_dummy": True, "is_moe": True}],
)
def test_random_tokens_and_dummy_weights_are_not_signed_whatever_is_waived(
    tmp_path: Path, facts: dict[str, Any], capsys
) -> None:
    folder = finished(tmp_path, Made(name="B", price=FRESH, facts=facts), **QUICK)

    assert sign(folder, "--waive", "real-weights/B:we think it will do") == 7
    assert "No waiver covers this check" in capsys.readouterr().out


def test_a_failed_check_needs_a_waiver_with_a_reason(tmp_path: Path, capsys) -> None:
    read = {"variable": "max_num_seqs", "asked": "16", "seen": "8", "verdict": "differs"}
    folder = finished(tmp_path, Made(name="B", price=FRESH, read_back=(read,)))
    failed = "launch-as-planned/B"

    assert sign(folder) == 7
    assert f"--waive '{failed}:REASON'" in capsys.readouterr().out.splitlines()
    assert sign(folder, "--waive", failed) == 2
    assert sign(folder, "--waive", f"{failed}:TODO") == 7
    assert sign(folder, "--waive", f"{failed}:seen on all machines, harmless here") == 0
    rows = {(row.id, row.of): row.verdict for row in checked(folder)}
    assert rows["evidence", failed] == "waived"


def test_what_no_waiver_helps_against_is_told_first_and_checks_are_a_count(
    tmp_path: Path, capsys
) -> None:
    few = finished(tmp_path, Made(name="B", price=FRESH), replications=2, **QUICK)

    assert sign(few) == 7
    said = capsys.readouterr().out.splitlines()

    assert said[0] == "This run cannot be signed as it is, whatever is waived:"
    assert any("stamped EXPLORATORY" in line for line in said)
    assert not any("--waive" in line or "enough-launches" in line for line in said)
    counts = [line for line in said if line.endswith("would need a waiver: --json has them.")]
    assert sign(few, "--json") == 7
    reasons = json.loads(capsys.readouterr().out)["refused"]
    waivable = [reason for reason in reasons if "--waive" in reason["do"]]
    assert counts[0].startswith(f"And {len(waivable)} check")


def test_a_word_that_nobody_filled_in_hides_no_line_to_waive_with(
    tmp_path: Path, capsys
) -> None:
    read = {"variable": "max_num_seqs", "asked": "16", "seen": "8", "verdict": "differs"}
    folder = finished(tmp_path, Made(name="B", price=FRESH, read_back=(read,)))

    assert sign(folder, "--role", "TODO") == 7
    said = capsys.readouterr().out

    assert "whatever is waived" not in said
    assert "--waive 'launch-as-planned/B:REASON'" in said.splitlines()


def test_quality_of_the_chosen_one_is_offered_no_waiver_and_takes_none(
    tmp_path: Path, capsys
) -> None:
    quality = QualityFacts(reference="bfloat16", margin_points=1.0, tasks=("gsm8k",))
    contract = CONTRACT.model_copy(update={"quality": quality})
    folder = finished(tmp_path, Made(name="B", price=FRESH), contract=contract)

    assert sign(folder, "--json") == 7
    reasons = json.loads(capsys.readouterr().out)["refused"]
    assert {"quality", "check"} <= {reason["rule"] for reason in reasons}
    assert not any("--waive 'quality" in reason["do"] for reason in reasons)
    assert sign(folder, "--waive", "quality/B:its answers were read by hand") == 7
    assert "quality/B: quality not measured" in capsys.readouterr().out


def forged_decision(folder: RunFolder) -> None:
    made = read_run(folder.path).decision
    forged = made.model_copy(update={"sentence": "B is the best that there is."})
    folder.file(layout.DECISION).write_text(file_text(forged))


def forged_checks(folder: RunFolder) -> None:
    checks = read_run(folder.path).checks.checks
    folder.file(layout.CHECKS).write_text(file_text(Checks(checks=checks[1:])))


def dearer(folder: RunFolder) -> None:
    plan = read_run(folder.path).plan
    (b,) = plan.candidates
    dear = b.model_copy(update={"price": priced(9.0, date=b.price.date)})
    folder.file(layout.PLAN).write_text(
        file_text(plan.model_copy(update={"candidates": (dear,)}))
    )


def further_launch(folder: RunFolder) -> None:
    """A copy of the second replication as a fourth, by its files' names and its own word."""
    (cell,) = folder.path.glob("cells/B--closed-4--*")
    file = read_file(cell / "1.cell.json", CellFile)
    for name in file.files:
        shutil.copy(cell / name, cell / name.replace("1.", "3.", 1))
    copy = file.model_copy(
        update={
            "replication": 3,
            "launch": "B-3",
            "seed": 7,
            "files": {name.replace("1.", "3.", 1): of for name, of in file.files.items()},
        }
    )
    (cell / "3.cell.json").write_text(file_text(copy))
    conclude(folder, now=NOW)
    render_run(folder, now=NOW)


def test_a_copied_replication_is_no_further_launch(signable: RunFolder, capsys) -> None:
    further_launch(signable)

    assert sign(signable) == 7
    assert "files-unchanged" in capsys.readouterr().out
    assert ("evidence", "files-unchanged") in failures(signable)


@pytest.mark.parametrize("forge", [forged_decision, forged_checks, dearer])
def test_what_does_not_follow_from_the_evidence_is_not_signed_under_a_manifest_made_by_hand(
    signable: RunFolder, forge: Callable[[RunFolder], None], capsys
) -> None:
    forge(signable)
    write_manifest(signable)

    assert sign(signable) == 7
    assert "not what the evidence gives" in capsys.readouterr().out
    assert not signable.file(layout.SIGNOFF).exists()


CLAUSED = CONTRACT.model_copy(
    update={"quality": QualityFacts(reference="bfloat16", margin_points=1.0)}
)


def concluded_under(folder: RunFolder, contract: ContractFacts) -> None:
    """The plan with another contract, and all that follows from it made again."""
    plan = read_run(folder.path).plan.model_copy(update={"contract": contract})
    folder.file(layout.PLAN).write_text(file_text(plan))
    conclude(folder, now=NOW)
    render_run(folder, now=NOW)


def test_a_clause_that_the_plan_dropped_is_told_however_all_else_was_made_again(
    tmp_path: Path, capsys
) -> None:
    folder = finished(tmp_path, Made(name="B", price=FRESH), contract=CLAUSED)
    assert failures(folder) == []
    kept = read_run(folder.path).plan.contract
    concluded_under(folder, kept.model_copy(update={"quality": None}))

    assert failures(folder) == [("contract", layout.PLAN)]
    assert sign(folder) == 7
    assert "the contract's quality is nothing" in " ".join(capsys.readouterr().out.split())
    assert not folder.file(layout.SIGNOFF).exists()


@pytest.mark.parametrize("kind", [{"rehearsal": True}, {"imported": "vllm"}])
def test_a_rehearsal_and_an_import_hold_the_contract_of_their_campaign_as_well(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    folder = finished(
        tmp_path, B, replications=1, exploratory=True, contract=CLAUSED, plan=kind, **QUICK
    )
    assert failures(folder) == []
    kept = read_run(folder.path).plan.contract
    concluded_under(folder, kept.model_copy(update={"cached_prefix_tokens": 512}))

    assert failures(folder) == [("contract", layout.PLAN)]


def test_lengths_in_a_file_of_their_own_are_held_against_its_name(small: RunFolder) -> None:
    asked = {"output_tokens: '128'": "output_tokens: file:answers.txt"}
    path = small.file(layout.CAMPAIGN)
    text = path.read_text()
    for old, new in asked.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    plan = read_run(small.path).plan
    of_file = plan.contract.model_copy(update={"output_tokens": "file:answers.txt"})

    assert altered_clauses(small, plan.model_copy(update={"contract": of_file})) == ()
    assert altered_clauses(small, plan) == (
        'the contract\'s output_tokens is "128"; campaign.yaml states "file:answers.txt"',
    )


def test_a_page_that_says_other_than_the_run_is_not_signed(signable: RunFolder, capsys) -> None:
    page = signable.file(layout.REPORT_HTML)
    page.write_text(page.read_text().replace("$4.", "$3."))

    assert sign(signable) == 7
    assert "report.html" in capsys.readouterr().out


def test_dummy_weights_are_signed_for_speed_and_everything_says_so(
    tmp_path: Path, capsys
) -> None:
    folder = finished(tmp_path, Made(name="B", price=FRESH, facts={"is_dummy": True}))

    assert sign(folder) == 0
    signoff = read_signoff(folder)
    assert signoff is not None
    assert signoff.scope == "speed"
    assert runoff(["check", str(folder.path)]) == 0
    assert "scope speed" in " ".join(capsys.readouterr().out.split())
    assert "this decides on speed alone" in folder.file(layout.REPORT_HTML).read_text()


def test_a_tie_is_signed_and_says_that_it_was_taken_by_rule(tmp_path: Path) -> None:
    folder = finished(tmp_path, Made(name="B", price=FRESH), Made(name="C", price=FRESH))

    assert sign(folder) == 0
    signoff = read_signoff(folder)
    assert signoff is not None
    assert "a tie, taken by rule for B" in signoff.sentence
    page = folder.file(layout.REPORT_HTML).read_text()
    assert "a tie, taken by rule for B" in page
    assert "Nothing is chosen" not in page
    assert failures(folder) == []


@pytest.mark.parametrize("option", ["--by", "--role", "--statement"])
def test_a_placeholder_is_not_taken_for_a_person(
    signable: RunFolder, option: str, capsys
) -> None:
    words = dict(zip((*WHO, *WHAT)[::2], (*WHO, *WHAT)[1::2], strict=True)) | {option: "TODO"}
    arguments = [word for pair in words.items() for word in pair]

    assert runoff(["signoff", str(signable.path), *arguments]) == 7
    assert "'TODO' is a placeholder" in capsys.readouterr().out


def test_two_people_sign_with_their_keys_and_both_are_verified(
    signable: RunFolder, key: Path, tmp_path: Path
) -> None:
    other = new_key(tmp_path / "grace")
    signers = allowed(tmp_path, ada=key, grace=other)

    assert sign(signable, "--key", str(key)) == 0
    assert runoff(
        ["signoff", str(signable.path), "--by", "Grace Hopper", "--role", "Reviewer",
         "--statement", "Read it, and agree", "--key", str(other)]
    ) == 0  # fmt: skip

    rows = [row for row in checked(signable, signers) if row.id == "signature"]
    assert [(row.of, row.verdict) for row in rows] == [
        ("Ada Lovelace", "pass"),
        ("Grace Hopper", "pass"),
    ]
    assert "by ada@example.org (" in rows[0].seen
    assert rows[0].seen.endswith("it signs for Ada Lovelace")


def test_one_key_does_not_sign_for_two_people(signable: RunFolder, key: Path, capsys) -> None:
    assert sign(signable, "--key", str(key)) == 0
    before = state(signable)

    assert runoff(
        ["signoff", str(signable.path), "--by", "Grace Hopper", "--role", "Reviewer",
         "--statement", "Read it, and agree", "--key", str(key)]
    ) == 7  # fmt: skip

    assert "has signed for Ada Lovelace before" in " ".join(capsys.readouterr().out.split())
    assert state(signable) == before


@pytest.mark.parametrize(
    ("by", "verdict"),
    [("Ada <ada@example.org>", "pass"), ("Grace <grace@example.org>", "fail")],
)
def test_a_name_with_an_address_is_held_against_the_key_s_principal(
    signable: RunFolder, key: Path, tmp_path: Path, by: str, verdict: str
) -> None:
    words = ["--by", by, *WHO[2:], *WHAT, "--key", str(key)]
    assert runoff(["signoff", str(signable.path), *words]) == 0

    (row,) = (
        each for each in checked(signable, allowed(tmp_path, ada=key)) if each.id == "signature"
    )
    assert row.verdict == verdict
    assert "ada@example.org" in row.seen


def test_the_same_person_does_not_sign_twice(signable: RunFolder, capsys) -> None:
    assert sign(signable) == 0
    before = signable.file(layout.SIGNOFF).read_bytes()

    assert sign(signable) == 7
    assert "has approved this manifest already" in capsys.readouterr().out
    assert signable.file(layout.SIGNOFF).read_bytes() == before


def test_openssh_alone_verifies_the_signature(
    signable: RunFolder, key: Path, tmp_path: Path
) -> None:
    assert sign(signable, "--key", str(key)) == 0
    signers = allowed(tmp_path, ada=key)

    done = subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "ada@example.org", "-n", "runoff",
         "-s", signable.file("signoff.json.sig")],
        input=signable.file(layout.SIGNOFF).read_bytes(), capture_output=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


def test_a_key_that_is_not_allowed_fails_and_without_a_list_it_is_unknown(
    signable: RunFolder, key: Path, tmp_path: Path
) -> None:
    assert sign(signable, "--key", str(key)) == 0
    other = new_key(tmp_path / "mallory")

    assert ("signature", "Ada Lovelace") in failures(signable, allowed(tmp_path, mal=other))
    (row,) = [row for row in checked(signable) if row.id == "signature"]
    assert row.verdict == "unknown"
    assert "SHA256:" in row.seen


def test_a_list_of_signers_asks_for_a_signature(
    signable: RunFolder, key: Path, tmp_path
) -> None:
    assert sign(signable) == 0

    assert failures(signable) == []
    assert failures(signable, allowed(tmp_path, ada=key)) == [("signature", "Ada Lovelace")]


def test_another_keys_signature_in_its_place_is_told(
    signable: RunFolder, key: Path, tmp_path: Path
) -> None:
    assert sign(signable, "--key", str(key)) == 0
    signers = allowed(tmp_path, ada=key)
    signable.file("signoff.json.sig").unlink()
    assert failures(signable, signers) == [("signature", "Ada Lovelace")]

    other = new_key(tmp_path / "mallory")
    subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-f", other, "-n", "runoff",
         signable.file(layout.SIGNOFF)], check=True, capture_output=True,
    )  # fmt: skip
    assert failures(signable, signers) == [("signature", "Ada Lovelace")]


def test_a_signature_for_another_purpose_does_not_count(
    signable: RunFolder, key: Path, tmp_path: Path
) -> None:
    assert sign(signable, "--key", str(key)) == 0
    signable.file("signoff.json.sig").unlink()
    subprocess.run(
        [
            "ssh-keygen",
            "-Y",
            "sign",
            "-q",
            "-f",
            key,
            "-n",
            "git",
            signable.file(layout.SIGNOFF),
        ],
        check=True,
        capture_output=True,
    )

    assert failures(signable, allowed(tmp_path, ada=key)) == [("signature", "Ada Lovelace")]


def test_a_signature_that_a_killed_signer_left_is_dropped_by_the_next(
    signable: RunFolder, key: Path
) -> None:
    assert sign(signable, "--key", str(key)) == 0
    signable.file(layout.SIGNOFF).unlink()
    assert runoff(["report", str(signable.path)]) == 0

    assert sign(signable, "--key", str(key)) == 0
    assert len(blocks(signable.file("signoff.json.sig").read_bytes())) == 1
    assert failures(signable) == []


def test_a_key_that_cannot_sign_is_a_matter_of_usage_and_nothing_is_written(
    signable: RunFolder, tmp_path: Path, capsys
) -> None:
    before = state(signable)

    assert sign(signable, "--key", str(tmp_path / "absent")) == 2
    assert "ssh-keygen does not sign with it" in capsys.readouterr().err
    assert state(signable) == before


def test_two_signers_do_not_write_at_once(signable: RunFolder) -> None:
    import fcntl

    holder = os.open(signable.path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        assert sign(signable) == 8
    finally:
        os.close(holder)
    assert not signable.file(layout.SIGNOFF).exists()

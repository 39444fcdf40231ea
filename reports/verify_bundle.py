"""Whether an unpacked run is what its manifest says; needs Python's standard library alone.

    python3 verify.py [FOLDER]

FOLDER is the unpacked run (by default ``run`` beside this file). Ends with 0 where every file
is as it was written and the signoff, where there is one, approves exactly this manifest; else
with 7. A bundle holds this file as ``verify.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUTSIDE = {
    "manifest.json",
    "signoff.json",
    "signoff.json.sig",
    "report.html",
    "report.md",
    "junit.xml",
}
PARTIAL = ".partial"
ASIDE = re.compile(r"\..+\.\d+")
SHA256 = re.compile(r"[0-9a-f]{64}")
HOW = (
    "a detached signature (of the last approval, if that one was signed): ssh-keygen -Y verify "
    "-f ALLOWED_SIGNERS -I WHO -n runoff -s signoff.json.sig < signoff.json"
)


def digest_of(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
            size += len(part)
    return digest.hexdigest(), size


def files_of(root: Path) -> Iterator[tuple[str, str]]:
    """Every name that the manifest must cover, with what is wrong where none can."""
    for folder, folders, names in os.walk(root):
        place = Path(folder)
        if place == root and PARTIAL in folders:
            folders.remove(PARTIAL)
        links = [name for name in folders if (place / name).is_symlink()]
        for name in links + names:
            path = place / name
            known = path.relative_to(root).as_posix()
            if path.is_symlink() or not path.is_file():
                yield known, "it is no plain file"
            elif known not in OUTSIDE and not ASIDE.fullmatch(name):
                yield known, ""


def differences(root: Path, stated: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Every way in which the folder is not what the manifest says."""
    found = dict(files_of(root))
    if not stated:
        yield "manifest.json: it names no file"
    for name, wrong in sorted(found.items()):
        if wrong:
            yield f"{name}: {wrong}"
        elif name not in stated:
            yield f"{name}: the manifest does not name it"
    for name, entry in sorted(stated.items()):
        digest = str(entry["sha256"])
        if not SHA256.fullmatch(digest) or len(set(digest)) == 1:
            yield f"{name}: the manifest holds no SHA-256 of it"
        elif name in OUTSIDE or name not in found:
            yield f"{name}: it is missing"
        elif not found[name] and digest_of(root / name) != (digest, entry["bytes"]):
            yield f"{name}: it is not as it was written"


def signoff_of(root: Path, manifest: str) -> tuple[list[str], list[str]]:
    """What is wrong with the signoff, and who approved."""
    path = root / "signoff.json"
    if not path.exists():
        return [], ["not signed"]
    signoff = read(path)
    wrong = []
    if signoff["manifest_sha256"] != manifest:
        wrong.append("signoff.json: it approves another manifest than this one")
    if not signoff["approvals"]:
        wrong.append("signoff.json: nobody has approved")
    said = ["approved by {by} ({role}) at {at}: {statement}".format(**each)
            for each in signoff["approvals"]]  # fmt: skip
    if any(each["signed"] for each in signoff["approvals"]):
        said.append(HOW)
    return wrong, said


def read(path: Path) -> dict[str, Any]:
    """The JSON object of a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} is no JSON object")
    return found


def verdict(root: Path) -> tuple[list[str], list[str]]:
    """What is wrong, and what else is to be said."""
    try:
        manifest, _ = digest_of(root / "manifest.json")
        stated = read(root / "manifest.json")["files"]
        wrong, said = signoff_of(root, manifest)
        wrong = [*differences(root, stated), *wrong]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"{type(error).__name__}: {error}"], []
    return wrong, [f"{len(stated)} files as they were written", f"manifest {manifest}", *said]


def main(arguments: list[str]) -> int:
    """Write what was found; the exit code."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent / "run"
    wrong, said = verdict(root)
    for line in wrong:
        sys.stdout.write(f"FAIL {line}\n")
    for line in () if wrong else said:
        sys.stdout.write(f"OK   {line}\n")
    return 7 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

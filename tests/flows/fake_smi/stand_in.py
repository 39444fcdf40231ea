"""Puts the stand-ins on PATH for one test."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


class StandIn:
    """The tools of one made-up machine; ``scene`` and ``mode`` may be changed at any time."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.programs, self.state = folder / "programs", folder / "smi"
        self._patch = patch
        self.programs.mkdir()
        self.state.mkdir()
        for name, script in (("nvidia-smi", "nvidia_smi.py"), ("amd-smi", "amd_smi.py")):
            self.put(name, f'exec "{sys.executable}" -SE "{FOLDER / script}" "$@"')
        patch.setenv("PATH", f"{self.programs}:{os.environ['PATH']}")
        patch.setenv("FAKE_SMI_STATE", str(self.state))

    def put(self, name: str, line: str) -> None:
        """A program of the shell."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def is_of(self, scene: str, mode: str = "") -> StandIn:
        """The machine to be."""
        self._patch.setenv("FAKE_SMI_SCENE", scene)
        self._patch.setenv("FAKE_SMI_MODE", mode)
        return self

    def set_on(self, device: int = 0) -> dict[str, str]:
        """What is in force on a device beside what it came with."""
        path = self.state / f"{device}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def calls(self) -> list[str]:
        """Every setting call, in order."""
        path = self.state / "calls.log"
        return path.read_text().splitlines() if path.exists() else []

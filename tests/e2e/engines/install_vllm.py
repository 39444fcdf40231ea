"""Installs vLLM for CPUs into .venv-vllm/ by the runtime's own script, once: minutes, 3.5 GB.

Run as ``.venv/bin/python tests/e2e/engines/install_vllm.py``; the tests of this folder find it
there. Running it again does nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest
from deploy_templates.runtime_folder import load_runtime_folder
from flows.launch.install import install

ROOT = Path(__file__).parents[3]
PLACE = ROOT / ".venv-vllm"


def main() -> int:
    runtime = load_runtime_folder("vllm_cpu")
    plan = render(
        LaunchRequest(
            name="here",
            runtime=runtime.name,
            version=runtime.newest,
            mode="venv",
            model="any",
            port=1,
            device_class="cpu-x86",
            checkpoint=Checkpoint(kind="path", location="any"),
        ),
        runtime,
    )
    found = install(plan, PLACE, environment=os.environ, progress=print)
    sys.stdout.write(f"{found.environment}/bin/python\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

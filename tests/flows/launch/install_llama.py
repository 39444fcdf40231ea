"""Compiles llama-server into .llama/ by the runtime's own install script, once: minutes.

Run as ``.venv/bin/python tests/flows/launch/install_llama.py``; tests find it there.
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


def main() -> int:
    plan = render(
        LaunchRequest(
            name="here",
            runtime="llama_server",
            version="b11434",
            mode="venv",
            variant="built",
            model="any",
            port=1,
            device_class="cpu-x86",
            checkpoint=Checkpoint(kind="path", location="any.gguf"),
        ),
        load_runtime_folder("llama_server"),
    )
    found = install(plan, ROOT / ".llama", environment=os.environ, progress=print)
    sys.stdout.write(f"{found.environment}/bin/llama-server\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

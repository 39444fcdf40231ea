"""amd-smi as two releases print it; settings are remembered in a folder."""

# ruff: noqa: T201 - a program prints
import json
import os
import sys
import time
from pathlib import Path

SCENE = Path(__file__).with_name("scenes") / os.environ["FAKE_SMI_SCENE"]
STATE = Path(os.environ["FAKE_SMI_STATE"])
MODE = os.environ.get("FAKE_SMI_MODE", "")


def kept() -> dict[str, float]:
    path = STATE / "amd.json"
    return json.loads(path.read_text()) if path.exists() else {}


def told(name: str) -> object:
    whole = json.loads((SCENE / f"{name}.json").read_text())
    for each in whole["gpu_data"] if isinstance(whole, dict) else whole:
        now = kept()
        if "clock" in now and name == "metric":
            each["clock"]["gfx_0"]["clk"]["value"] = now["clock"]
        if "cap" in now and name == "static":
            each["limit"]["socket_power"]["value"] = now["cap"]
    return whole


def main(words: list[str]) -> int:
    if words[0] == "set":
        if MODE == "permission":
            print("AmdSmiPermissionDeniedException: Command requires elevation")
            return 10
        option, value = words[3], words[4]
        found = kept()
        if option == "--perf-determinism":
            found["clock"] = int(value)
        elif option == "--perf-level":
            found.pop("clock", None)
        else:
            found["cap"] = float(value)
        aside = STATE / f"amd.{os.getpid()}.aside"
        aside.write_text(json.dumps(found))  # who reads meanwhile finds the one or the other
        aside.replace(STATE / "amd.json")
        with (STATE / "calls.log").open("a") as log:
            log.write(" ".join(words) + "\n")
        print("GPU: 0\n    Successfully set it")
        return 0
    if "--watch" in words:
        while True:
            print(json.dumps(told(words[0]), indent=4), flush=True)
            time.sleep(float(words[words.index("--watch") + 1]))
    print(json.dumps(told(words[0]), indent=4))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

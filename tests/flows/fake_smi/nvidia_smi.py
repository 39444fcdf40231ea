"""nvidia-smi as several driver versions print it; settings are remembered in a folder.

FAKE_SMI_SCENE names a folder of texts beside this file, FAKE_SMI_STATE holds what was set,
FAKE_SMI_MODE is permission, unsupported, crash, capped, silent or nothing.
"""

# ruff: noqa: T201 - a program prints
import json
import os
import sys
import time
from pathlib import Path

SCENE = Path(__file__).with_name("scenes") / os.environ["FAKE_SMI_SCENE"]
STATE = Path(os.environ["FAKE_SMI_STATE"])
MODE = os.environ.get("FAKE_SMI_MODE", "")
DEVICES = json.loads((SCENE / "fields.json").read_text())


def kept(device: int) -> dict[str, str]:
    path = STATE / f"{device}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(device: int, **values: str | None) -> None:
    found = {**kept(device), **values}
    text = json.dumps({name: value for name, value in found.items() if value is not None})
    aside = STATE / f"{device}.{os.getpid()}.aside"
    aside.write_text(text)  # who reads meanwhile finds the one or the other
    aside.replace(STATE / f"{device}.json")
    with (STATE / "calls.log").open("a") as log:
        log.write(" ".join(sys.argv[1:]) + "\n")


def value(device: int, name: str) -> str:
    now = kept(device)
    if name == "timestamp":
        return time.strftime("%Y/%m/%d %H:%M:%S.") + f"{time.time_ns() // 1_000_000 % 1000:03}"
    if name == "clocks.gr" and "graphics" in now:
        return "1005" if MODE == "capped" else now["graphics"]
    if name == "clocks.mem" and "memory" in now:
        return now["memory"]
    return now.get(name, DEVICES[device][name])


def query(names: list[str], chosen: list[int]) -> int:
    for name in names:
        if name not in DEVICES[0] and name != "timestamp":
            print(f'Field "{name}" is not a valid field to query.\n')
            return 2
    for device in chosen:
        print(", ".join(value(device, name) for name in names))
    sys.stdout.flush()
    return 0


def change(option: str, word: str, device: int) -> int:
    bus = DEVICES[device]["pci.bus_id"]
    if MODE == "crash" and option == "-lgc":
        keep(device, graphics=word.split(",", maxsplit=1)[0])
        os.abort()
    if MODE == "permission":
        what = {
            "-pm": f"Unable to set persistence mode for GPU {bus}: Insufficient Permissions",
            "-pl": "The current user does not have permission to change the power limit "
            f"for GPU {bus}.",
        }.get(
            option, f"The current user does not have permission to change clocks for GPU {bus}."
        )
        print(f"{what}\nTerminating early due to previous errors.")
        return 4
    if MODE == "unsupported" and option in ("-lgc", "-lmc"):
        print(f"Setting locked GPU clocks is not supported for GPU {bus}.")
        print("Treating as warning and moving on.\nAll done.")
        return 0
    if option == "-pm":
        keep(device, persistence_mode="Enabled" if word == "1" else "Disabled")
        print(f"{'Enabled' if word == '1' else 'Disabled'} persistence mode for GPU {bus}.")
    elif option == "-pl":
        keep(device, **{"power.limit": f"{float(word):.2f}"})
        print(f"Power limit for GPU {bus} was set to {float(word):.2f} W from 700.00 W.")
    elif option == "-lgc":
        low, high = word.split(",")
        keep(device, graphics=low)
        print(f'GPU clocks set to "(gpuClkMin {low}, gpuClkMax {high})" for GPU {bus}')
    elif option == "-lmc":
        low, high = word.split(",")
        keep(device, memory=low)
        print(f'Memory clocks set to "(memClkMin {low}, memClkMax {high})" for GPU {bus}')
    elif option == "-rgc":
        keep(device, graphics=None)
    elif option == "-rmc":
        keep(device, memory=None)
    print("All done.")
    return 0


def main(words: list[str]) -> int:
    if MODE == "silent":
        print("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
        return 9
    chosen = list(range(len(DEVICES)))
    if words[:1] == ["-i"]:
        chosen, words = [int(each) for each in words[1].split(",")], words[2:]
    if words == ["-q", "-x"]:
        print((SCENE / "q.xml").read_text(), end="")
        return 0
    if words == ["topo", "-m"]:
        print((SCENE / "topo.txt").read_text(), end="")
        return 0
    asked = next((each for each in words if each.startswith("--query-gpu=")), None)
    if asked is not None:
        names = asked.partition("=")[2].split(",")
        if "-lms" not in words:
            return query(names, chosen)
        every_s = int(words[words.index("-lms") + 1]) / 1000
        while query(names, chosen) == 0:
            time.sleep(every_s)
        return 2
    return max(
        change(words[0], words[1] if len(words) > 1 else "", device) for device in chosen
    )


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except BrokenPipeError:
        code = 141
    sys.stdout.flush()
    os._exit(code)

"""A candidate's release and weights are put on a host once, and its server starts from them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.errors import InfrastructureError, UsageError
from flows.launch_plans import Requested
from flows.remote.candidate import prepare_there
from flows.remote.ship import shipped
from tests.flows.launch.conftest import MODEL, VERSIONS, gguf

__all__ = ["gguf"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


@pytest.fixture
def requested(gguf) -> Requested:
    return Requested(
        name="here",
        request=LaunchRequest(
            name="here",
            runtime="llama_server",
            version=VERSIONS["embedded"],
            mode="venv",
            variant="embedded",
            model=MODEL,
            port=8000,
            device_class="cpu-x86",
            checkpoint=Checkpoint(kind="dummy", location=str(gguf)),
            programs={"python": sys.executable},
            variables=Variables(max_model_len=512, max_sequences=2),
        ),
        runtime=load_runtime_folder("llama_server"),
    )


def test_a_folder_travels_once_and_again_when_it_has_changed(box, tmp_path):
    folder = tmp_path / "weights"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a").write_text("one")
    (folder / "b").write_text("two")
    said = []

    first = shipped(box, folder, said=said.append)
    again = shipped(box, folder, said=said.append)
    (folder / "b").write_text("three")
    other = shipped(box, folder, said=said.append)

    assert first == again != other
    assert len(said) == 4
    assert Path(first, "b").read_text() == "two"
    assert Path(other, "deep", "a").read_text() == "one"


def test_weights_for_which_there_is_no_room_do_not_travel(
    make_host, remote, small_disk, tmp_path
):
    there = make_host()
    (there.folder / "runoff").mkdir()
    (there.folder / "runoff" / "checkpoints").symlink_to(small_disk)
    file = tmp_path / "weights"
    file.write_bytes(bytes(2_000_000))

    with pytest.raises(InfrastructureError, match=r"has 2000000 bytes, and .* has room for"):
        shipped(remote(there), file)

    assert not [path for path in small_disk.rglob("*") if path.is_file()]


def test_a_simulated_engine_is_refused_with_where_it_runs(box, requested):
    request = replace(requested.request, runtime="rehearsal", version="1", mode="process")
    simulated = replace(
        requested,
        request=replace(request, variant=None),
        runtime=load_runtime_folder("rehearsal"),
    )

    with pytest.raises(UsageError, match="host: local"):
        prepare_there(box, simulated)

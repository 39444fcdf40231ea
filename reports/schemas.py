"""JSON Schema of every file of results, made from the models that read them."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from catalog.json_schema import DIALECT
from reports.run.aftermath_file import AftermathFile
from reports.run.cell_file import CellFile
from reports.run.checks_file import Checks
from reports.run.control_file import ControlFile
from reports.run.decision_file import Decision
from reports.run.host_file import HostFile
from reports.run.manifest_file import Manifest
from reports.run.plan_file import RunPlan
from reports.run.search_file import SearchFile
from reports.run.signoff_file import Signoff
from reports.run.summary_file import Summary

_MODELS: Final[dict[str, type[BaseModel]]] = {
    "aftermath": AftermathFile,
    "cell": CellFile,
    "checks": Checks,
    "control": ControlFile,
    "decision": Decision,
    "host": HostFile,
    "manifest": Manifest,
    "plan": RunPlan,
    "search": SearchFile,
    "signoff": Signoff,
    "summary": Summary,
}
RESULTS: Final = tuple(_MODELS)


def result_schema(name: str) -> dict[str, Any]:
    """The schema of one kind of result file (one of ``RESULTS``).

    Keys that it does not name are allowed: a newer writer of the same version may add some.
    """
    return {"$schema": DIALECT, **_MODELS[name].model_json_schema()}

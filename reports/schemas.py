"""JSON Schema of every file of results and of a what-if, made from their models."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from catalog.calibration.file import CalibrationFile
from catalog.json_schema import DIALECT
from reports.run.aftermath_file import AftermathFile
from reports.run.baseline_file import Baseline
from reports.run.cell_file import CellFile
from reports.run.checks_file import Checks
from reports.run.control_file import ControlFile
from reports.run.decision_file import Decision
from reports.run.history_file import HistoryFile
from reports.run.host_file import HostFile
from reports.run.manifest_file import Manifest
from reports.run.plan_file import RunPlan
from reports.run.prediction_file import PredictionFile
from reports.run.prediction_score_file import PredictionScore
from reports.run.quality_file import QualityFile
from reports.run.reevaluation_file import Reevaluation
from reports.run.search_file import SearchFile
from reports.run.signoff_file import Signoff
from reports.run.summary_file import Summary
from reports.run.whatif_file import WhatIf

_MODELS: Final[dict[str, type[BaseModel]]] = {
    "aftermath": AftermathFile,
    "calibration": CalibrationFile,
    "baseline": Baseline,
    "cell": CellFile,
    "checks": Checks,
    "control": ControlFile,
    "decision": Decision,
    "history": HistoryFile,
    "host": HostFile,
    "manifest": Manifest,
    "plan": RunPlan,
    "prediction": PredictionFile,
    "prediction_score": PredictionScore,
    "quality": QualityFile,
    "reevaluation": Reevaluation,
    "search": SearchFile,
    "signoff": Signoff,
    "summary": Summary,
    "whatif": WhatIf,
}
RESULTS: Final = tuple(_MODELS)


def result_schema(name: str) -> dict[str, Any]:
    """The schema of one kind of result file (one of ``RESULTS``).

    Keys that it does not name are allowed: a newer writer of the same version may add some.
    """
    return {"$schema": DIALECT, **_MODELS[name].model_json_schema()}

"""A machine's settings as the run directory keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reports.run.control_file import ControlFile
from reports.telemetry.summary import observed_clocks


def control_file(
    host: str, record: Mapping[str, Any], summaries: Iterable[Mapping[str, Any]] = ()
) -> ControlFile:
    """``hosts/<id>/control.json`` of a controller's record.

    ``summaries`` are those of the host's cells (``CellFile.telemetry``): what was seen of each
    setting under load stands beside what was asked.
    """
    file = ControlFile.model_validate({"host": host, **record})
    return file.seen(observed_clocks(summaries))

"""A model's entry: understood architecture, published count, known precisions."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.architecture import UnknownArchitecture, parameters, precision, read_config
from catalog.errors import CatalogError
from catalog.sanity.finding import Finding, Severity, Steps
from catalog.schema import Model

COUNT_TOLERANCE = 0.001


def model_findings(model: Model) -> Iterator[Finding]:
    """What does not fit together in one model's entry."""
    yield from _precision(model, ("reference_precision",), model.reference_precision)
    for index, checkpoint in enumerate(model.checkpoints):
        yield from _precision(model, ("checkpoints", index, "precision"), checkpoint.precision)
    try:
        counted = parameters(read_config(model.config))
    except UnknownArchitecture as error:
        yield _finding(
            model, ("config",), str(error), "Every gate of this model is unknown", "warning"
        )
        return
    published = model.parameters_published
    if published is not None and abs(counted - published) > COUNT_TOLERANCE * published:
        yield _finding(
            model,
            ("parameters_published",),
            f"{published:,} parameters are published but the config gives {counted:,}",
            "Check the config's fields against the checkpoint",
        )


def _precision(model: Model, steps: Steps, name: str) -> Iterator[Finding]:
    try:
        precision(name)
    except CatalogError as error:
        yield _finding(model, steps, error.seen, error.do)


def _finding(
    model: Model, steps: Steps, seen: str, do: str, severity: Severity = "error"
) -> Finding:
    return Finding(
        severity=severity, kind="model", name=model.name, steps=steps, seen=seen, do=do
    )

"""A calibration as tables: figures with their spread, and assumptions beside measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from catalog.calibration.file import AllReduce, CalibratedDevice, CalibrationFile, Figure
from catalog.quantity import Basis, Quantity, format_value
from catalog.screen import Screen
from catalog.verdict import Verdict
from reports.phrases import TAGS, percent, plain
from reports.tables import Cell, Column, Table

_WORDS = {
    "memory_read": "memory, read",
    "memory_triad": "memory, triad",
    "memory_copy": "memory, copy",
    "matmul": "matrix product",
    "host_to_device": "host to device",
    "device_to_host": "device to host",
}
_NOTHING = "–"


def figures_table(file: CalibrationFile) -> Table:
    """Every figure: median, 95% interval, lowest and highest, spread, and what measured it."""
    rows = tuple(
        _figure_row(device, figure) for device in file.devices for figure in device.figures
    )
    columns = (
        Column(title="Device"),
        Column(title="Figure"),
        Column(title="Where"),
        Column(title="Median", right=True),
        Column(title="95% interval", right=True),
        Column(title="Lowest to highest", right=True),
        Column(title="MAD", right=True),
        Column(title="Measured by"),
    )
    return Table(title=f"Calibration of {file.host}", columns=columns, rows=rows)


def _figure_row(device: CalibratedDevice, figure: Figure) -> tuple[Cell, ...]:
    unit = figure.unit
    precision = f", {figure.precision}" if figure.precision else ""
    interval = (
        f"{format_value(figure.low, unit)} to {format_value(figure.high, unit)}"
        if figure.low is not None and figure.high is not None
        else _NOTHING
    )
    doubt = "" if figure.is_beyond_cache is not False else "arrays partly within the caches"
    where = "one core" if figure.where == "core" else figure.where
    threads = f", {figure.threads} threads" if figure.threads and figure.threads > 1 else ""
    details = "; ".join(part for part in (figure.bytes_counted, doubt) if part)
    name = device.title if device.kind == "cpu" else f"{device.title} ({device.index})"
    return (
        Cell(text=name),
        Cell(text=f"{_WORDS[figure.name]}{precision}"),
        Cell(text=where if device.kind == "cpu" else "the device"),
        Cell(text=f"{format_value(figure.value, unit)} m", meaning="warn" if doubt else ""),
        Cell(text=interval),
        Cell(
            text=f"{format_value(figure.minimum, unit)} to {format_value(figure.maximum, unit)}"
        ),
        Cell(text=percent(figure.mad / figure.value).lstrip("+")),
        Cell(
            text=f"{figure.tool}; {len(figure.blocks)} blocks{threads}",
            detail=details,
        ),
    )


def all_reduce_table(lines: Iterable[AllReduce]) -> Table | None:
    """Start-up and bandwidth of each fitted line with its residual, and its points."""
    rows = tuple(
        (
            Cell(text=f"{each.devices} × {each.device_class}"),
            Cell(text=f"{plain_time(each.alpha_s)} m"),
            Cell(text=f"{format_value(each.bandwidth, 'B/s')} m"),
            Cell(
                text=percent(each.residual).lstrip("+"),
                detail=f"worst {percent(each.worst_residual).lstrip('+')}",
            ),
            Cell(
                text=", ".join(
                    f"{point.message_bytes / 1024:,.0f} KiB {plain_time(point.seconds)}"
                    for point in each.points
                )
            ),
            Cell(text=each.tool),
        )
        for each in lines
    )
    columns = (
        Column(title="All-reduce over"),
        Column(title="α", right=True),
        Column(title="Bandwidth", right=True),
        Column(title="Residual, RMS", right=True),
        Column(title="Median time by message"),
        Column(title="Measured by"),
    )
    title = "All-reduce: α + 2(k−1)/k · M / bandwidth"
    return Table(title=title, columns=columns, rows=rows) if rows else None


def plain_time(seconds: float) -> str:
    """Seconds in µs below a millisecond, else in ms."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:,.3g} µs"
    return f"{seconds * 1e3:,.4g} ms"


def side_by_side(screen: Screen) -> Table | None:
    """Each assumption that a calibration measured, with the measurement; None without any."""
    rows = tuple(row for candidate in screen.candidates for row in _pairs(candidate))
    columns = (
        Column(title="Candidate"),
        Column(title="Parameter"),
        Column(title="Assumption", right=True),
        Column(title="Measurement", right=True),
        Column(title="Measured to assumed", right=True),
        Column(title="From"),
    )
    title = "Assumptions that were measured"
    return Table(title=title, columns=columns, rows=rows) if rows else None


def _pairs(candidate: Verdict) -> Iterator[tuple[Cell, ...]]:
    for each in candidate.calibrated:
        before, after = each.assumption, each.measurement
        change = _NOTHING if before is None or not before.value else _ratio(before, after)
        name = each.name if each.name.startswith("all-reduce") else f"achieved {each.name}"
        yield (
            Cell(text=candidate.name),
            Cell(text=name),
            Cell(text=_told(before), detail=before.source if before is not None else ""),
            Cell(text=_told(after)),
            Cell(text=change),
            Cell(text=after.source, detail=after.date.isoformat() if after.date else ""),
        )


def _ratio(before: Quantity, after: Quantity) -> str:
    return percent(after.value / before.value - 1)


def _told(quantity: Quantity | None) -> str:
    if quantity is None:
        return "nothing was assumed"
    if quantity.unit == "s":
        return f"{plain_time(quantity.value)} {TAGS[quantity.basis]}"
    return f"{plain(quantity)} {TAGS[quantity.basis]}"


STAYS_ASSUMPTION = (
    "A gate's figure at a measured rate is still marked a: the rule that it is reckoned by is "
    "an assumption."
)


def still_open(screen: Screen) -> tuple[str, ...]:
    """Rates of candidates that no calibration has measured, one sentence each."""
    found = []
    for candidate in screen.candidates:
        measured = {each.name for each in candidate.calibrated}
        names = [
            entry.name.removeprefix("achieved_")
            for gate in candidate.gates
            for entry in gate.inputs
            if entry.name in ("achieved_bandwidth", "achieved_compute")
            and entry.quantity.basis is Basis.ASSUMPTION
        ]
        left = [name for name in dict.fromkeys(names) if name not in measured]
        if left:
            found.append(
                f"{candidate.name}: achieved {' and '.join(left)} still assumed (OPEN)."
            )
    return tuple(found)

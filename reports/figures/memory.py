"""Figure 8, memory: what a device must hold by the paper, against what it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from catalog.quantity import significant
from catalog.verdict import Verdict
from reports.figures.canvas import WIDE, Drawing, Sheet, drawing, room
from reports.figures.labels import short
from reports.figures.palette import FAIL, INK, PAPER, RULE, look
from reports.report import Report
from reports.tables import Cell, Column, Table

NAME = "memory"
MISSING = "the paper knows no candidate's memory"
_GIB: Final = 2.0**30
_PARTS: Final = (
    ("weights", "weights_held"),
    ("KV cache", "kv_cache_longest"),
    ("workspace", "workspace"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One candidate: GiB of each part and of the device, and the share that may be used."""

    name: str
    parts: tuple[float, ...]
    memory: float
    usable: float | None

    @property
    def share(self) -> float:
        """Share of the device's memory that the parts take."""
        return sum(self.parts) / self.memory


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    stacks = memory(report)
    return draw(stacks) if stacks else MISSING


def memory(report: Report) -> tuple[Stack, ...]:
    """A stack per candidate whose memory gate has all figures."""
    candidates = report.screen.candidates if report.screen is not None else ()
    return tuple(_stacks(candidates))


def draw(stacks: tuple[Stack, ...]) -> Drawing:
    """The figure with its finding."""
    definition = (
        "Share of one device's memory: weights, KV cache of the contract's streams at their "
        "longest, workspace. The dashed line is the share that the server may use; past it a "
        "launch is unlikely."
    )
    sheet = Sheet(
        width=WIDE,
        height=0.95 + 0.4 * len(stacks),
        left=room(short(stack.name) for stack in stacks),
        right=room(map(_sum, stacks)),
    )
    return drawing(
        lambda figure: _draw(figure.subplots(), stacks),
        sheet,
        name=NAME,
        title="memory",
        finding=finding(stacks),
        definition=definition,
        caption="On paper, by assumption: n = 0 requests, R = 0 launches.",
        table=_table(stacks),
    )


def finding(stacks: tuple[Stack, ...]) -> str:
    """Who has least memory to spare."""
    tightest = max(stacks, key=lambda stack: stack.share)
    fullest = f"{significant(sum(tightest.parts))} of {significant(tightest.memory)} GiB"
    over = tightest.usable is not None and tightest.share > tightest.usable
    limit = f", past the {tightest.usable:.0%} that it may use" if over else ""
    return f"{tightest.name} has least memory to spare: it needs {fullest} per device{limit}."


def _stacks(candidates: tuple[Verdict, ...]) -> Iterator[Stack]:
    for candidate in candidates:
        gate = next((each for each in candidate.gates if each.gate == "memory"), None)
        figures = {e.name: e.quantity.value for e in gate.inputs} if gate is not None else {}
        if all(name in figures for name in ("reported_memory", *(n for _, n in _PARTS))):
            yield Stack(
                name=candidate.name,
                parts=tuple(figures[name] / _GIB for _, name in _PARTS),
                memory=figures["reported_memory"] / _GIB,
                usable=figures.get("memory_utilisation"),
            )


def _draw(axes: Axes, stacks: tuple[Stack, ...]) -> None:
    for height, stack in enumerate(reversed(stacks)):
        left = 0.0
        axes.barh(height, 100, color="none", edgecolor=RULE, height=0.6)
        for place, part in enumerate(stack.parts):
            width = 100 * part / stack.memory
            axes.barh(
                height, width, left=left, color=look(place).colour, edgecolor=PAPER, height=0.6
            )
            left += width
        if stack.usable is not None:
            axes.plot(
                [100 * stack.usable] * 2,
                [height - 0.4, height + 0.4],
                color=FAIL,
                linestyle="--",
            )
        axes.text(
            1.012,
            height,
            _sum(stack),
            color=INK,
            va="center",
            transform=axes.get_yaxis_transform(),
        )
    for place, (words, _) in enumerate(_PARTS):
        axes.text(
            0.2 * place,
            1.02,
            words,
            color=look(place).colour,
            fontweight="bold",
            transform=axes.transAxes,
        )
    axes.set_yticks(range(len(stacks)), [short(stack.name) for stack in reversed(stacks)])
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max(100.0, *(100 * stack.share for stack in stacks)))
    axes.set_ylim(-0.6, len(stacks) - 0.4)
    axes.set_xlabel("% of a device's memory")


def _sum(stack: Stack) -> str:
    parts = " + ".join(significant(part) for part in stack.parts)
    return f"{parts} of {significant(stack.memory)} GiB"


def _table(stacks: tuple[Stack, ...]) -> Table:
    columns = (
        Column(title="Candidate"),
        *(Column(title=words, unit="GiB a", right=True) for words, _ in _PARTS),
        Column(title="Device", unit="GiB s", right=True),
        Column(title="May be used", unit="%", right=True),
        Column(title="Free", unit="GiB a", right=True),
    )
    rows = tuple(
        (
            Cell(text=stack.name),
            *(Cell(text=significant(part)) for part in stack.parts),
            Cell(text=significant(stack.memory)),
            Cell(
                text="not stated" if stack.usable is None else significant(100 * stack.usable)
            ),
            Cell(text=significant(stack.memory * (stack.usable or 1) - sum(stack.parts))),
        )
        for stack in stacks
    )
    return Table(title="Memory of a device", columns=columns, rows=rows)

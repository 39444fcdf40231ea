"""``gates.json`` as the screen it was written from, so that reports need no catalog."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catalog.gate_result import Figures, GateResult, Input, Status
from catalog.placement import Replaced
from catalog.quantity import Basis, Quantity
from catalog.screen import ContractSummary, Screen
from catalog.verdict import Rank, Verdict
from reports.errors import ReportsError

_QUANTITIES = ("price", "best_cost")
_BUILT = ("verdict", "ranks", "notes", "gates", "calibrated")


def read_screen(path: Path) -> Screen | None:
    """The paper vote of a run; None where it has none.

    Raises
    ------
    ReportsError
        For a file that holds no screen.
    """
    if not path.is_file():
        return None
    try:
        return screen_of(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        seen = f"it holds no screen ({type(error).__name__}: {error})"
        raise ReportsError(str(path), seen, "Restore the file") from error


def screen_of(plain: Mapping[str, Any]) -> Screen:
    """The screen of the object that ``runoff screen --json`` prints."""
    return Screen(
        name=plain["name"],
        contract=_contract(plain["contract"]),
        candidates=tuple(_verdict(each) for each in plain["candidates"]),
    )


def _contract(plain: Mapping[str, Any]) -> ContractSummary:
    known: dict[str, Any] = {
        name: _quantity(value) if isinstance(value, Mapping) else value
        for name in ContractSummary.__slots__
        if (value := plain.get(name)) is not None
    }
    return ContractSummary(**known)


def _verdict(plain: Mapping[str, Any]) -> Verdict:
    known: dict[str, Any] = {
        name: _quantity(plain[name]) if name in _QUANTITIES else plain[name]
        for name in Verdict.__slots__
        if plain.get(name) is not None and name not in _BUILT
    }
    return Verdict(
        **known,
        verdict=Status(plain["verdict"]),
        ranks=tuple(Rank(rank) for rank in plain["ranks"]),
        notes=tuple(plain["notes"]),
        gates=tuple(_gate(gate) for gate in plain["gates"]),
        calibrated=tuple(
            Replaced(
                name=each["name"],
                assumption=_quantity(each["assumption"]),
                measurement=_some(each["measurement"]),
            )
            for each in plain.get("calibrated") or ()
        ),
    )


def _gate(plain: Mapping[str, Any]) -> GateResult:
    figures = Figures(
        inputs=tuple(_input(each) for each in plain["inputs"]),
        details={
            name: each if isinstance(each, str) else _some(each)
            for name, each in (plain.get("details") or {}).items()
            if each is not None
        },
        lesson={name: _some(each) for name, each in (plain.get("lesson") or {}).items()},
    )
    return GateResult(
        gate=plain["gate"],
        status=Status(plain["status"]),
        clause=plain["clause"] or "",
        bound=_quantity(plain["bound"]),
        assumption=_quantity(plain["assumption"]),
        limit=_quantity(plain["limit"]),
        margin=plain["margin"],
        formula=plain["formula"],
        open_questions=tuple(plain.get("open_questions") or ()),
        because=_literal(plain.get("reason")),
        working=_literal(plain.get("explanation")),
        figured=lambda: figures,
    )


def _literal(text: str | None) -> str:
    """A finished sentence where a gate keeps a template."""
    return (text or "").replace("{", "{{").replace("}", "}}")


def _input(plain: Mapping[str, Any]) -> Input:
    return Input(name=plain["name"], quantity=_some(plain))


def _quantity(plain: Mapping[str, Any] | None) -> Quantity | None:
    return None if plain is None else _some(plain)


def _some(plain: Mapping[str, Any]) -> Quantity:
    date = plain.get("date")
    return Quantity(
        value=plain["value"],
        unit=plain["unit"],
        basis=Basis(plain["basis"]),
        source=plain.get("source") or "",
        date=dt.date.fromisoformat(date) if date else None,
    )

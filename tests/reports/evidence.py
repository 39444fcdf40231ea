"""Evidence of a run that can be signed, to be spoilt in one place at a time."""

from __future__ import annotations

from typing import Any

from catalog.quantity import Basis
from reports.run.cell_file import AskedCell, AskedSlo, CellFile
from reports.run.checks_file import Check, Checks
from reports.run.decision_file import Decision, Flip, Ranked
from reports.run.plan_file import CandidateFacts, PriceFacts, RunPlan
from reports.run.summary_file import CandidateSummary, Summary
from reports.signable import Evidence
from tests.reports.chat import CONTRACT, MATRIX

CONTRACT_SHA256 = "1f" * 32


def candidate(name: str = "B", **changes: Any) -> CandidateFacts:
    values: dict[str, Any] = {
        "name": name,
        "kind": "launch",
        "host": f"host-{name}",
        "host_class": "ssh",
        "runtime": "vllm",
        "version": "0.6.3",
        "price": price(),
    }
    return CandidateFacts(**{**values, **changes})


def price(**changes: Any) -> PriceFacts:
    values: dict[str, Any] = {
        "value": 3.67,
        "unit": "USD/h",
        "basis": Basis.ASSUMPTION,
        "date": "2026-08-01",
        "sold_as": "instance",
    }
    return PriceFacts(**{**values, **changes})


def check(**changes: Any) -> Check:
    values: dict[str, Any] = {
        "id": "client-health",
        "requirement": "the client keeps up",
        "observed": "send lag p99 0.2 ms",
        "needed": "at most 20 ms",
        "verdict": "pass",
        "candidate": "B",
        "load_point": "closed-16",
        "replication": 0,
        "decisive": True,
    }
    return Check(**{**values, **changes})


def plan(**changes: Any) -> RunPlan:
    values: dict[str, Any] = {
        "runoff_version": "0.1.0",
        "campaign": "canonical",
        "run": "20260822-120000",
        "created_at": "2026-08-22T12:00:00+00:00",
        "campaign_sha256": CONTRACT_SHA256,
        "catalog_digest": "2e" * 32,
        "contract": CONTRACT,
        "matrix": MATRIX,
        "candidates": (candidate("B"), candidate("C", price=price(date="2026-07-15"))),
        "order": (),
    }
    return RunPlan(**{**values, **changes})


def cell(**changes: Any) -> CellFile:
    values: dict[str, Any] = {
        "run": "20260822-120000",
        "candidate": "B",
        "load_point": "closed-16",
        "key": "0123abcd",
        "replication": 0,
        "launch": "B-0",
        "host": "host-B",
        "load_host": "host-B",
        "position": 0,
        "seed": 7,
        "basis": "measurement",
        "started_at": "2026-08-22T12:00:00+00:00",
        "ended_at": "2026-08-22T12:12:00+00:00",
        "asked": AskedCell(
            slo=AskedSlo(ttft_ms=1000, itl_ms=25, goodput=0.95),
            arrival="closed",
            concurrency=16,
        ),
        "files": {},
    }
    return CellFile(**{**values, **changes})


def decision(**changes: Any) -> Decision:
    values: dict[str, Any] = {
        "method_version": 1,
        "outcome": "chosen",
        "chosen": "B",
        "sentence": "B holds the contract at the lowest cost.",
        "ranked_by": "USD per 1M compliant tokens",
        "ranking": (
            Ranked(name="B", rank=1, standing="complies", why="holds every clause"),
            Ranked(name="C", rank=2, standing="complies", why="costs more"),
        ),
        "flips": (
            Flip(
                what="price",
                candidate="C",
                now=None,
                flips_at=None,
                sentence="C wins below $3.10/h.",
            ),
        ),
        "stamp": "MEASURED",
        "exit_code": 0,
    }
    return Decision(**{**values, **changes})


def summary(**changes: Any) -> Summary:
    values: dict[str, Any] = {
        "method_version": 1,
        "campaign": "canonical",
        "run": "20260822-120000",
        "rehearsal": False,
        "candidates": (CandidateSummary(name="B"), CandidateSummary(name="C")),
    }
    return Summary(**{**values, **changes})


def evidence(**changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "plan": plan(),
        "summary": summary(),
        "checks": Checks(checks=(check(), check(id="steady"))),
        "decision": decision(),
        "cells": (cell(),),
        "contract_sha256": CONTRACT_SHA256,
    }
    return Evidence(**{**values, **changes})

"""How to make it again, and what the words mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.number_words import number_phrase
from reports.report import Report

TITLE = "Reproduce, and glossary"
GLOSSARY = (
    ("TTFT", "First chunk that carries output, from the time at which the request was due."),
    ("service TTFT", "The same from the time at which it was sent."),
    ("ITL", "Time between consecutive output chunks of a request."),
    ("TPOT", "(last token − first token) / (output tokens − tokens of the first chunk)."),
    ("E2E", "End of the answer, from the time at which the request was due."),
    (
        "goodput",
        "Compliant requests / requests scheduled in the measured window; failed ones count.",
    ),
    (
        "compliant",
        "Answered whole, with TTFT and the stated ITL statistic within their limits.",
    ),
    (
        "$ per 1M compliant tokens",
        "Hourly price / output tokens of compliant requests per hour × 10⁶.",
    ),
    ("interactivity", "1 / TPOT: output tokens per second that one user sees."),
    ("tokens/s and device", "Output tokens per second over the candidate's devices."),
    ("launch", "One start of the server: the unit of evidence. R is their number."),
    ("low–middle–high", "95% interval over launches with the median in its middle."),
    (
        "basis",
        "How a number came to be: specification, bound, assumption, measurement, simulation.",
    ),
)


def section(report: Report) -> dict[str, Any]:
    """Commands, seeds, digests, and the glossary."""
    plan = report.plan
    return {
        "commands": tuple(_commands(report)),
        "facts": tuple(_facts(report)),
        "manifest": report.manifest,
        "glossary": GLOSSARY,
        "version": plan.runoff_version,
    }


def _commands(report: Report) -> Iterator[str]:
    rehearse = " --rehearse" if report.plan.rehearsal else ""
    yield f"runoff compare campaign.yaml{rehearse}    # the campaign file lies in the run"
    yield "runoff check RUN    # do the files still say so"
    yield "runoff report RUN   # these pages again"


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    plan = report.plan
    yield "run", plan.run
    yield "campaign file, SHA-256", plan.campaign_sha256
    yield "catalog, SHA-256", plan.catalog_digest
    yield "seed", str(plan.matrix.seed)
    yield "method version", str(plan.method_version)
    yield "runoff", plan.runoff_version
    spent = report.summary.spent_usd
    yield "spent", number_phrase(spent, "not recorded")

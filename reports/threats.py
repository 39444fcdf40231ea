"""What a reader must hold against a run: threats and limits, written by rule."""

from __future__ import annotations

from collections.abc import Iterator

from reports.number_words import launches
from reports.report import Report
from reports.run.plan_file import CandidateFacts


def threats(report: Report) -> tuple[str, ...]:
    """Every threat once, the gravest kind first."""
    lines = (
        *_kind_of_run(report),
        *_design(report),
        *_candidates(report),
        *_disturbed(report),
        *_stated(report),
    )
    return tuple(dict.fromkeys(lines))


def _kind_of_run(report: Report) -> Iterator[str]:
    plan = report.plan
    if report.summary.rehearsal or plan.rehearsal:
        yield "A rehearsal: the engine was simulated, and no figure says anything of hardware."
    if report.summary.imported:
        yield "Imported: the figures were measured by another tool, and its definitions rule."
    if plan.exploratory or report.decision.stamp == "EXPLORATORY":
        yield (
            f"Exploratory: {launches(plan.matrix.replications)} of {plan.matrix.requests:,} "
            "requests are fewer or shorter than a signed claim needs."
        )
    if report.summary.interrupted:
        yield f"The campaign ended early: {report.summary.interrupted}."


def _design(report: Report) -> Iterator[str]:
    plan = report.plan
    hosts = {each.host for each in plan.candidates if each.measured}
    if len(hosts) == 1:
        yield "A single host: a difference between two machines of one kind is not seen."
    elif hosts:
        yield (
            "Candidates ran on different machines, one of each: what is a machine's own is "
            "taken for the candidate's."
        )
    yield "Prompts are synthetic: lengths are as asked, their content is not that of users."
    if plan.contract.output == "forced":
        yield "Answers were forced to their length; a model that stops earlier is faster."
    if plan.contract.cached_prefix_tokens:
        yield "Prompts share a prefix: without it the same server is slower."
    else:
        yield "Prefix caches were of no use: traffic that shares prefixes is served faster."
    if not any(point.is_open for point in plan.matrix.load_points):
        yield "All load was closed-loop: that says nothing of traffic that does not wait."
    if plan.load_from == "candidate":
        yield "The client ran on the server's host: users add their network's time."
    if plan.contract.quality is None:
        yield "Quality was not measured."


def _candidates(report: Report) -> Iterator[str]:
    for each in report.plan.candidates:
        if each.measured:
            yield from _candidate(each)
            yield from _precision(report, each)
            for reason in _unsignable(report, each.name):
                yield f"{each.name}: {reason}."


def _candidate(facts: CandidateFacts) -> Iterator[str]:
    name = facts.name
    if facts.grade == "uncontrolled":
        yield f"{name} is an endpoint: its hardware, version and load by others are unknown."
    if facts.is_dummy:
        yield f"{name} ran on made-up weights: its speed counts, its answers mean nothing."
    if facts.is_moe and facts.is_dummy:
        yield f"{name} routes experts by made-up weights: real traffic routes otherwise."
    if facts.is_speculative:
        yield f"{name} speculates: acceptance depends on the text, which was synthetic."
    if facts.price is not None and facts.price.stale:
        yield f"{name}: its price is older than 90 days."


def _precision(report: Report, facts: CandidateFacts) -> Iterator[str]:
    measured = report.measured(facts.name)
    quality = None if measured is None else measured.quality
    if facts.parity != "contract":
        is_proven = quality is not None and quality.get("verdict") == "holds"
        what = "its quality was proven" if is_proven else facts.parity
        yield f"{facts.name} runs at another precision than the contract's: {what}."
    if quality is not None and quality.get("is_dummy"):
        yield (
            f"{facts.name}: answers were compared on made-up weights, which shows how its "
            "arithmetic differs and nothing of what it knows."
        )


def _unsignable(report: Report, name: str) -> tuple[str, ...]:
    ranked = next((each for each in report.decision.ranking if each.name == name), None)
    return ranked.unsignable if ranked is not None else ()


def _disturbed(report: Report) -> Iterator[str]:
    """Cells during which others used the server or the machine."""
    for check in report.checks.checks:
        if check.id == "foreign-load" and check.verdict == "fail":
            of = f"{check.candidate} at {check.load_point}"
            yield _sentence(f"{of} had not server and machine to itself: {check.observed}")


def _stated(report: Report) -> Iterator[str]:
    """Threats that plans, machines and launches state of themselves."""
    for line in report.plan.threats:
        yield _sentence(line[:1].upper() + line[1:])
    for each in report.plan.candidates:
        for line in each.threats if each.measured else ():
            yield _sentence(f"{each.name}: {line}")
    for host, lines in (
        *((each.host, each.threats) for each in report.hosts),
        *((each.host, each.threats) for each in report.controls),
    ):
        for line in lines:
            yield _sentence(f"{host}: {line}")
    for measured in report.summary.candidates:
        for launch in measured.launches:
            for line in (*launch.threats, *launch.differences):
                yield _sentence(f"{measured.name}: {line}")


def _sentence(text: str) -> str:
    return text.rstrip(".") + "."

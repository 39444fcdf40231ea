"""A campaign under way: what its steps share, and what has been learnt so far.

Everything that must survive is in the run directory; the rest is made anew by a resumption.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from catalog.schema import Campaign, Candidate
from deploy_templates.plan import LaunchPlan
from flows.budget import Spending
from flows.budget import times as budget_times
from flows.calibrate.paper_again import PaperAgain
from flows.clouds.protocol import Driver, Machine
from flows.errors import RunoffError, StillBilled
from flows.heartbeat import Heartbeat
from flows.hosts.host import CampaignHost, Settings
from flows.interruption import Interruption
from flows.launch_plans import Requested
from flows.launching import Prepared
from flows.machine.found import FoundMachine
from flows.machine.ordered import Ordered
from flows.matrix import above_a_miss, cell_name, with_proof
from flows.measuring.measurers import Measurers
from flows.predicting.known import Known
from flows.preflight import Question
from flows.progress import Progress
from flows.store import Store
from flows.system.facts import SystemFacts
from reports.run import layout
from reports.run.control_file import ControlFile
from reports.run.layout import CellName
from reports.run.ledger_file import read_ledger
from reports.run.plan_file import PRODUCTION, CandidateFacts, LoadPoint, RunPlan, Visit
from reports.run.read import read_file
from reports.run.search_file import SearchFile
from reports.telemetry.production import FOLDER

if TYPE_CHECKING:
    from flows.notices import Notices

SEARCH_LAUNCH: Final = -1  # the launch of a search is no replication
LOOK_LAUNCH: Final = -2  # nor is the one in which clocks are looked at
QUALITY_LAUNCH: Final = -3  # nor the one in which answers are compared
_MISSES_TO_PROVE: Final = 2  # launches; one alone may have been unlucky
_FAILURES_IN_A_ROW: Final = 2
_CAUTION: Final = 1.5  # a cell may take so much longer than it has before


@dataclass(slots=True, kw_only=True)
class Held:
    """A machine that is ours, and who gave it; the rest is known once it has been entered.

    ``summaries`` are those of its cells' samples. ``has_failed``: a launch did on it.
    """

    driver: Driver
    machine: Machine
    host: CampaignHost | None = None
    facts: SystemFacts | None = None
    found: FoundMachine = field(default_factory=FoundMachine)
    heartbeat: Heartbeat | None = None
    notices: Notices | None = None
    settings: Settings | None = None
    control: ControlFile | None = None
    summaries: list[Mapping[str, Any]] = field(default_factory=list)
    has_failed: bool = False

    def require_kept(self) -> None:
        """Return unless its cloud takes it back; else TakenBackError."""
        if self.notices is not None:
            self.notices.require_kept()


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """Where runoff's own things lie, what it was started in, who ends it, who is told.

    ``has_shared_server``: the user named a Prefect server, which others may use too.
    ``keep_on_failure_s``: how long a rented machine is kept on which a launch has failed.
    """

    environment: Mapping[str, str]
    cache: Path
    state: Path
    interruption: Interruption
    progress: Progress
    has_shared_server: bool = False
    keep_on_failure_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was made of the campaign file beside the plan.

    ``paper`` puts the paper vote again once a host was calibrated. ``requested`` are the
    launches by candidate; ``finished`` what is put to each rendered
    plan; ``question`` what preflight is asked; ``ordered`` what each machine must be;
    ``known`` what predictions of each candidate start from. ``file`` is the campaign file,
    ``vocabulary`` the number of the model's tokens (None: not known).
    """

    requested: Mapping[str, Requested]
    finished: Mapping[str, Callable[[LaunchPlan], LaunchPlan]]
    question: Question
    ordered: Mapping[str, Ordered] = field(default_factory=dict)
    file: Path = Path()
    vocabulary: int | None = None
    paper: PaperAgain | None = None
    known: Mapping[str, Known] = field(default_factory=dict)


class Underway:
    """One campaign between its plan and its decision."""

    def __init__(
        self,
        store: Store,
        plan: RunPlan,
        campaign: Campaign,
        *,
        asked: Asked,
        around: Surroundings,
    ) -> None:
        self.store = store
        self.plan = plan
        self.campaign = campaign
        self.asked = asked
        self.around = around
        self.interruption = around.interruption
        self.progress = around.progress
        self.measurers = Measurers(around.interruption)
        self.prepared: dict[str, Prepared] = {}
        self.held: dict[str, Held] = {}
        self.lost_hosts: set[str] = set()
        self.lost_slots: set[str] = set()  # of a shared server's, by host
        self.failure: RunoffError | None = None  # the one that ended the campaign early
        self.lost: RunoffError | None = None  # why a machine could not be used
        self.still_billed: StillBilled | None = None
        self.is_whole = False  # a resumed run that is concluded: nothing of it is written
        self.spending = _spending(store, plan)
        self._ledger = threading.Lock()
        self._turns: dict[str, asyncio.Lock] = {}
        self._learnt = _Learnt()
        for entry in read_ledger(store.folder.file(layout.LEDGER)):
            if entry.get("event") == "discarded":
                self._learnt.attempts[_cell_of(entry)].append(str(entry.get("why", "")))

    # what is to be done

    @property
    def known(self) -> Mapping[str, Known]:
        """What predictions of each candidate start from."""
        return self.asked.known

    @property
    def hosts(self) -> tuple[str, ...]:
        """Machines and services of the plan, in its order."""
        return tuple(dict.fromkeys(visit.host for visit in self.plan.order))

    def candidates(self, host: str) -> tuple[str, ...]:
        """Candidates that are measured on a host."""
        return tuple(dict.fromkeys(visit.candidate for visit in self.visits(host)))

    def visits(self, host: str) -> tuple[Visit, ...]:
        """The launches on a host, in their order."""
        return tuple(visit for visit in self.plan.order if visit.host == host)

    def candidate(self, name: str) -> Candidate:
        """The candidate as the campaign file states it."""
        return next(each for each in self.campaign.candidates if each.name == name)

    def facts(self, name: str) -> CandidateFacts:
        """The candidate as the plan keeps it."""
        return self.plan.candidate(name)

    def point(self, candidate: str, name: str) -> LoadPoint:
        """A load point of the plan, or one that the candidate's search has found."""
        for each in self._proof(candidate):
            if each.name == name:
                return each
        return self.plan.load_point(name)

    def points(self, visit: Visit) -> tuple[str, ...]:
        """A launch's load points: the plan's, and among them what proves a search.

        One at production clocks has no others.
        """
        if is_repetition(visit):
            return visit.load_points
        proof = tuple(each.name for each in self._proof(visit.candidate))
        return with_proof(visit, proof, self.plan.matrix.seed)

    def missing(self, visit: Visit) -> tuple[str, ...]:
        """Load points of a launch that are not measured yet, in their order."""
        return tuple(
            name
            for name in self.points(visit)
            if not self.store.is_complete(self.cell(visit, name), visit.replication)
        )

    def cell(self, visit: Visit, point: str) -> CellName:
        """The cell of a launch at a load point."""
        facts = self.facts(visit.candidate)
        return cell_name(self.plan, facts, self.point(visit.candidate, point))

    def launch_folder(self, visit: Visit) -> Path:
        """Where a launch leaves its plan, its log and what it showed."""
        if visit.replication == SEARCH_LAUNCH:
            return self.store.folder.path / "search" / visit.candidate / "launch"
        if visit.replication == LOOK_LAUNCH:
            return self.store.folder.path / "clocks" / visit.candidate / "launch"
        if visit.replication == QUALITY_LAUNCH:
            return self.store.folder.path / "quality" / visit.candidate / "launch"
        folder = self.store.folder.launch(visit.candidate, visit.replication)
        return folder / FOLDER if is_repetition(visit) else folder

    def is_given_up(self, candidate: str) -> bool:
        """Whether nothing more of a candidate is measured."""
        return candidate in self._learnt.given_up

    def needs_search(self, candidate: str) -> bool:
        """Whether the candidate's highest rate is still to be looked for."""
        return self.plan.matrix.search_rates and self._search(candidate) is None

    def turn(self, load_host: str) -> asyncio.Lock:
        """The right to send load from a machine: one cell at a time there."""
        return self._turns.setdefault(load_host, asyncio.Lock())

    # what was learnt

    def skipped(self, visit: Visit, point: str) -> str | None:
        """Why a cell is not measured; None: it is."""
        given_up = self._learnt.given_up.get(visit.candidate)
        if given_up is not None:
            return given_up
        misses = self._learnt.misses[visit.candidate]
        needed = min(_MISSES_TO_PROVE, self.plan.matrix.replications)
        proven = [name for name, count in misses.items() if count >= needed]
        points = [self.point(visit.candidate, name) for name in self.points(visit)]
        if point in above_a_miss(points, proven, self.plan.matrix.decision_point):
            return f"above a proven miss ({', '.join(sorted(proven))})"
        return None

    def learn_cell(
        self, visit: Visit, point: str, document: Mapping[str, Any], seconds: float
    ) -> None:
        """Take what a measured cell says for those that follow."""
        self._learnt.seconds[visit.candidate, point] = seconds
        clauses: Mapping[str, Any] = document["clauses"]
        if document["verdict"] == "valid" and any(
            each["verdict"] == "misses" for each in clauses.values()
        ):
            self._learnt.misses[visit.candidate][point] += 1

    def learn_launch(self, candidate: str, failure: RunoffError | None) -> None:
        """Take how a launch went: who never comes up, or no longer, is given up."""
        learnt = self._learnt
        if failure is None:
            learnt.came_up.add(candidate)
            learnt.failures[candidate] = 0
            return
        learnt.failures[candidate] += 1
        few = _FAILURES_IN_A_ROW if candidate in learnt.came_up else 1
        if learnt.failures[candidate] >= few:
            self.give_up(candidate, f"failed launch: {failure.seen}")

    def give_up(self, candidate: str, why: str) -> None:
        """Measure nothing more of a candidate."""
        self._learnt.given_up.setdefault(candidate, why)

    def lose_host(self, host: str, error: RunoffError) -> None:
        """Measure nothing more on a machine; with no other there is nothing to decide."""
        self.lost = self.lost or error
        self.lost_hosts.add(host)
        for name in self.candidates(host):
            self.give_up(name, f"no machine: {error.seen}")
            self.progress.state(name, f"no machine: {error}")

    def end(self, error: RunoffError, why: str) -> None:
        """End the campaign early for an error; the first one stays."""
        self.failure = self.failure or error
        self.interruption.ask(why)

    def attempts(self, visit: Visit, point: str) -> tuple[str, ...]:
        """Why earlier attempts at a replication did not become a cell."""
        return tuple(self._learnt.attempts[visit.candidate, point, visit.replication])

    def discard(self, visit: Visit, point: str, why: str) -> None:
        """Say in the ledger that an attempt did not become a cell."""
        self._learnt.attempts[visit.candidate, point, visit.replication].append(why)
        self.record(
            "discarded",
            candidate=visit.candidate,
            load_point=point,
            replication=visit.replication,
            why=why,
        )

    def require_kept(self, host: str) -> None:
        """Return unless a machine's cloud takes it back; else TakenBackError."""
        if host in self.held:
            self.held[host].require_kept()

    # time and money

    def record(self, event: str, **facts: Any) -> None:
        """Append to the ledger, from whatever thread."""
        with self._ledger:
            self.store.record(event, **facts)

    def record_spent(self) -> None:
        """Write the running total down."""
        at_s = time.monotonic()
        self.record(
            "spent",
            usd=round(self.spending.usd(at_s), 6),
            seconds=round(self.spending.machine_s(at_s), 3),
            wall_s=round(self.spending.wall_s(at_s), 3),
        )

    def cell_done(self) -> None:
        """Tell that one more cell is kept, or will not be."""
        usd = self.spending.usd(time.monotonic())
        self.progress.cell_done(usd, self.left_s())

    def afford(self, step: str, seconds: float) -> None:
        """Return if a step that may take so long is within the budget; else BudgetStop."""
        release = budget_times.release("cloud" if self._is_rented else "local").high
        self.spending.refuse(step, seconds + release, time.monotonic())

    def launch_s(self, candidate: str) -> float:
        """The most that a launch may take, in s."""
        return budget_times.start(self.facts(candidate)).high

    def cell_s(self, candidate: str, point: str) -> float:
        """What a cell will take, in s: as before with caution, else the most on paper."""
        seen = self._learnt.seconds.get((candidate, point))
        if seen is not None:
            return seen * _CAUTION
        return self.paper_s(candidate, self.point(candidate, point))

    def paper_s(self, candidate: str, load: LoadPoint) -> float:
        """The most that a cell may take on paper, in s."""
        facts = self.facts(candidate)
        warm_up = budget_times.warm_up(self.plan, facts, load)
        return (warm_up + budget_times.cell(self.plan, facts, load)).high

    def left_s(self) -> float:
        """About how long the rest will take, in s: that of the host that takes longest."""
        by_host: Counter[str] = Counter()
        for visit in self.plan.order:
            for point in self.missing(visit):
                if self.skipped(visit, point) is None:
                    by_host[visit.host] += round(self._expected_s(visit.candidate, point))
        return float(max(by_host.values(), default=0))

    def _expected_s(self, candidate: str, point: str) -> float:
        seen = self._learnt.seconds
        own = seen.get((candidate, point))
        others = [seconds for (_, name), seconds in seen.items() if name == point]
        if own is not None or others:
            return own if own is not None else sum(others) / len(others)
        facts, load = self.facts(candidate), self.point(candidate, point)
        return budget_times.cell(self.plan, facts, load).low

    @property
    def _is_rented(self) -> bool:
        return any(not held.machine.is_local for held in self.held.values())

    def owned(self) -> str:
        """What is ours now, in words."""
        names = ", ".join(f"{name} ({held.machine.id})" for name, held in self.held.items())
        return f"held: {names}" if names else ""

    def _search(self, candidate: str) -> SearchFile | None:
        path = self.store.folder.path / "search" / f"{candidate}.json"
        return read_file(path, SearchFile) if path.exists() else None

    def _proof(self, candidate: str) -> Sequence[LoadPoint]:
        if not self.plan.matrix.search_rates:
            return ()
        found = self._search(candidate)
        return found.proof if found is not None else ()


@dataclass(slots=True)
class _Learnt:
    """What cells and launches have shown so far; replications of one host come in order."""

    attempts: defaultdict[tuple[str, str, int], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    misses: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failures: Counter[str] = field(default_factory=Counter)
    came_up: set[str] = field(default_factory=set)
    given_up: dict[str, str] = field(default_factory=dict)
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)


def is_repetition(visit: Visit) -> bool:
    """Whether a launch only repeats the winner's decision cell at the clocks of production."""
    return any(name.endswith(PRODUCTION) for name in visit.load_points)


def _cell_of(entry: Mapping[str, Any]) -> tuple[str, str, int]:
    return (
        str(entry.get("candidate")),
        str(entry.get("load_point")),
        int(entry.get("replication", -1)),
    )


def _spending(store: Store, plan: RunPlan) -> Spending:
    """The budget's state: of a resumed run with what its earlier parts have used."""
    spent = [
        entry
        for entry in read_ledger(store.folder.file(layout.LEDGER))
        if entry.get("event") == "spent"
    ]
    last = spent[-1] if spent else {}
    hours = plan.budget_hours
    return Spending(
        started_s=time.monotonic(),
        limit_usd=plan.budget_usd,
        limit_s=None if hours is None else hours * 3600,
        carried_usd=float(last.get("usd", 0.0)),
        carried_machine_s=float(last.get("seconds", 0.0)),
        carried_wall_s=float(last.get("wall_s", 0.0)),
    )


def utc_now() -> dt.datetime:
    """Now, in UTC."""
    return dt.datetime.now(dt.UTC)

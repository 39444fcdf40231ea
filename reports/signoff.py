"""A signoff: a person's approval of exactly one manifest, or the reasons against it."""

from __future__ import annotations

import datetime as dt
import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.placeholders import unfilled
from reports.run.read import file_text
from reports.run.signoff_file import Approval, Signoff, Waiver
from reports.signable import Evidence, Refusal, covers, refusals, signable_winner
from reports.validity import rerun_when, valid_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The run cannot be signed, and why."""

    reasons: tuple[Refusal, ...]


def approve(
    evidence: Evidence,
    approval: Approval,
    *,
    manifest_sha256: str,
    now: dt.datetime,
    before: Signoff | None = None,
) -> Signoff | Refused:
    """The signoff with this approval behind those of ``before``, or the reasons against it.

    Waivers of those who approved the same manifest before count.
    """
    earlier = () if before is None else before.waivers
    reasons = (
        *unfit_words(approval),
        *_unfit_waivers(evidence, approval.waivers),
        *_unfit_predecessor(before, approval, manifest_sha256),
        *refusals(evidence, (*earlier, *approval.waivers), now.date()),
    )
    if reasons:
        return Refused(reasons=reasons)
    first = before.approvals if before is not None else ()
    return _signoff(evidence, (*first, approval), manifest_sha256)


def parse_waiver(text: str) -> Waiver:
    """The waiver of ``CHECK:REASON``; without a colon its reason is empty."""
    check, _, reason = text.partition(":")
    return Waiver(check=check.strip(), reason=reason.strip())


def signed_bytes(signoff: Signoff, approval: int) -> bytes:
    """What the detached signature of an approval (from 0) covers."""
    return file_text(signoff.up_to(approval + 1)).encode()


def is_as_written(signoff: Signoff, content: bytes) -> bool:
    """Whether the file's bytes are those that runoff writes for what they say."""
    return content == file_text(signoff).encode()


def unfit_words(approval: Approval) -> Iterator[Refusal]:
    """The refusals for words of an approval that nobody has filled in."""
    for name, text, words in (
        ("by", approval.by, 1),
        ("role", approval.role, 1),
        ("statement", approval.statement, 2),
    ):
        if (why := unfilled(text, words=words)) is not None:
            yield Refusal(rule=name, seen=f"{name}: {why}", do=_WORDS[name])
    for waiver in approval.waivers:
        if (why := unfilled(waiver.reason, words=2)) is not None:
            yield Refusal(
                rule="waiver",
                seen=f"the reason to waive {waiver.check or 'a check'}: {why}",
                do="Say why the failed check can be accepted here",
                check=waiver.check,
            )


_WORDS = {
    "by": "Give the name of the person who approves",
    "role": "Give the role in which that person approves",
    "statement": "Say in a sentence what is approved, and for what use",
}


def _unfit_waivers(evidence: Evidence, waivers: Sequence[Waiver]) -> Iterator[Refusal]:
    for waiver in waivers:
        named = [c for c in evidence.checks.checks if covers(waiver.check, c.name)]
        if not any(check.verdict in ("fail", "unknown") for check in named):
            what = "passes" if named else "is no check of this run"
            yield Refusal(
                rule="waiver",
                seen=f"{waiver.check!r} {what}: there is nothing to waive",
                do="Take the name from the table of checks, and write CHECK:REASON",
                check=waiver.check,
            )


def _unfit_predecessor(
    before: Signoff | None, approval: Approval, manifest_sha256: str
) -> Iterator[Refusal]:
    if before is None:
        return
    if before.manifest_sha256 != manifest_sha256:
        yield Refusal(
            rule="signed before",
            seen="signoff.json approves another manifest than this one",
            do="Move it away if the new evidence is to be signed in its place",
        )
    elif any(_same_name(each.by, approval.by) for each in before.approvals):
        yield Refusal(
            rule="signed before",
            seen=f"{approval.by} has approved this manifest already",
            do="Another person may approve it as well",
        )


def _same_name(one: str, other: str) -> bool:
    """Whether two names read alike, whatever their case, spaces and forms in Unicode."""
    first, second = (
        "".join(unicodedata.normalize("NFKC", name).casefold().split()) for name in (one, other)
    )
    return first == second


def _signoff(
    evidence: Evidence, approvals: tuple[Approval, ...], manifest_sha256: str
) -> Signoff:
    plan, decision = evidence.plan, evidence.decision
    until = valid_until(plan, decision)
    return Signoff(
        evidence=decision.stamp,
        manifest_sha256=manifest_sha256,
        campaign=plan.campaign,
        run=plan.run,
        chosen=signable_winner(decision) or "",
        sentence=decision.sentence,
        scope="speed" if plan.contract.quality is None else "speed and quality",
        valid_until=None if until is None else until.isoformat(),
        rerun_when=rerun_when(plan, decision),
        unknown=tuple(c.name for c in evidence.checks.checks if c.verdict == "unknown"),
        approvals=approvals,
    )


def objections(
    signoff: Signoff, evidence: Evidence, manifest_sha256: str
) -> tuple[Refusal, ...]:
    """Why a signoff that was found beside a run does not hold; empty where it does.

    It is judged as of the days on which its approvals were given.
    """
    found = list(_found_unfit(signoff, manifest_sha256))
    for count, approval in enumerate(signoff.approvals, start=1):
        found += unfit_words(approval)
        day = _day(approval.at)
        if day is None:
            seen = f"the time of {approval.by}'s approval is {approval.at!r}"
            found.append(Refusal(rule="at", seen=seen, do="A signoff is written by runoff"))
            continue
        if (planned := _day(evidence.plan.created_at)) is not None and day < planned:
            seen = f"{approval.by} approved at {approval.at}, before the run was planned"
            found.append(Refusal(rule="at", seen=seen, do="A signoff is written by runoff"))
        found += _unfit_waivers(evidence, approval.waivers)
        found += refusals(evidence, signoff.up_to(count).waivers, day)
    found += _altered(signoff, evidence)
    return tuple(dict.fromkeys(found))


def _found_unfit(signoff: Signoff, manifest_sha256: str) -> Iterator[Refusal]:
    if signoff.manifest_sha256 != manifest_sha256:
        yield Refusal(
            rule="manifest",
            seen=(
                f"it approves the manifest {signoff.manifest_sha256[:12]}…, "
                f"and this run's is {manifest_sha256[:12]}…"
            ),
            do="The run has changed since it was approved: read it and approve it again",
        )
    if not signoff.approvals:
        yield Refusal(rule="by", seen="nobody has approved", do="Sign with runoff signoff")


def _altered(signoff: Signoff, evidence: Evidence) -> Iterator[Refusal]:
    made = _signoff(evidence, signoff.approvals, signoff.manifest_sha256)
    now, then = (json.loads(file_text(each)) for each in (made, signoff))
    for name in now.keys() - {"rerun_when"}:  # its words may improve with a release
        if now[name] != then[name]:
            yield Refusal(
                rule="signoff",
                seen=f"its {name} is not what the run says",
                do="A signoff is written by runoff and not edited",
            )


def _day(at: str) -> dt.date | None:
    try:
        return dt.datetime.fromisoformat(at).date()
    except ValueError:
        return None

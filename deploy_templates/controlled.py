"""Controlled variables in a release's own terms: words, environment, configuration, doubts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from catalog.errors import CatalogError
from deploy_templates.plan import Asked, Controlled
from deploy_templates.releases import Release
from deploy_templates.request import Variables
from deploy_templates.schema import VARIABLES, Always, Control, Launch, Uncontrolled, Variable
from deploy_templates.words import Context, compact, truth, value, word, words

W = TypeVar("W", Control, Uncontrolled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a launch says to its engine."""

    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    objects: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def __add__(self, other: Terms) -> Terms:
        flags = dict.fromkeys((*self.objects, *other.objects))
        return Terms(
            words=self.words + other.words,
            env={**self.env, **other.env},
            config={**self.config, **other.config},
            objects={
                flag: {**self.objects.get(flag, {}), **other.objects.get(flag, {})}
                for flag in flags
            },
        )

    def command_words(self) -> tuple[str, ...]:
        """Words of the command line: flags and, last, those whose value is a JSON object."""
        pairs = ((flag, compact(entries)) for flag, entries in sorted(self.objects.items()))
        return (*self.words, *(item for pair in pairs for item in pair))

    def as_words(self) -> tuple[str, ...]:
        """Everything of it, as a person would look for it."""
        return (
            *self.command_words(),
            *(f"{name}={text}" for name, text in self.env.items()),
            *(f"{key}: {entry}" for key, entry in self.config.items()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One variable's terms, what the plan says of it, and what to doubt.

    ``is_unseen``: the engine's default stands, nobody stated it and nothing reports it.
    """

    terms: Terms = Terms()
    controlled: Controlled
    threats: tuple[str, ...] = ()
    is_unseen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The release, form and names with which every variable of one candidate is rendered."""

    launch: Launch
    release: Release
    form: str
    context: Context
    where: str

    def always(self) -> Terms:
        """Terms of every launch of this release in this form."""
        terms = Terms()
        for entry in self.release.formed(self.launch.serve, self.form):
            if truth(entry.when, self.context, self.where):
                terms += self._terms(entry, self.context)
        return terms

    def answers(self, asked: Variables) -> dict[str, Answer]:
        """Each variable's answer, in one order.

        Raises
        ------
        CatalogError
            If this runtime cannot do what was asked, with the reason or the possible values.
        """
        found: dict[str, Answer] = {}
        for name in VARIABLES:
            stated: Asked = getattr(asked, name)
            variable = self.launch.variables[name]
            if stated is None:
                found[name] = self._unset(name, variable)
            else:
                found[name] = self._asked(name, variable, stated, asked)
        return found

    def _unset(self, name: str, variable: Variable) -> Answer:
        """A default of the engine's: reported, certain, or a threat."""
        read_back = self._read_back(name)
        is_stated = variable.unset is not None or self._ruled_out(variable)
        return Answer(
            controlled=Controlled(
                asked=None,
                how="engine default",
                note=variable.unset or "",
                read_back=read_back,
            ),
            is_unseen=read_back is None and not is_stated,
        )

    def _asked(self, name: str, variable: Variable, stated: Asked, asked: Variables) -> Answer:
        for reason in self._holding(variable.uncontrolled):
            if reason.then == "error":
                self._refuse(name, f"{shown(stated)} cannot be asked of it: {reason.why}")
            note = f"{name} {shown(stated)} was asked, but {reason.why}"
            controlled = Controlled(asked=stated, how="threat", note=reason.why)
            return Answer(controlled=controlled, threats=(note,))
        return self._controlled(name, variable, stated, asked)

    def _controlled(
        self, name: str, variable: Variable, stated: Asked, asked: Variables
    ) -> Answer:
        controls = self._holding(variable.controls)
        if not controls:
            self._refuse(name, f"{self.release.known} has no setting for it in this form")
        control, key = controls[0], shown(stated)
        if key in control.refused:
            self._refuse(name, f"{key} cannot be asked of it: {control.refused[key]}")
        for other in (*control.requires, *filter(None, (control.stands_with,))):
            if getattr(asked, other) is None:
                self._refuse(name, f"{key} needs {other} as well")
        terms = self._of(name, control, stated)
        doubts = (control.threat, control.threats.get(key))
        return Answer(
            terms=terms,
            controlled=Controlled(
                asked=stated,
                rendered=terms.as_words(),
                how="rendered"
                if terms.as_words() or control.stands_with
                else "by construction",
                note=f"stands with {control.stands_with}" if control.stands_with else "",
                read_back=self._read_back(name),
            ),
            threats=tuple(f"{name} {key}: {doubt}" for doubt in doubts if doubt),
        )

    def _of(self, name: str, control: Control, stated: Asked) -> Terms:
        """A control's terms for the stated value."""
        mapped: object = stated
        if control.values is not None:
            if shown(stated) not in control.values:
                known = control.otherwise or f"its values are {', '.join(control.values)}"
                self._refuse(name, f"{shown(stated)} cannot be asked of it: {known}")
            mapped = control.values[shown(stated)]
        if isinstance(mapped, tuple):
            return Terms(words=words(mapped, self.context, self._place(name)))
        context = {**self.context, "value": mapped}
        terms = self._terms(control, context)
        if control.flag is None:
            return terms
        text = word(control.value, {**context, "value": shown(mapped)}, self._place(name))
        return Terms(words=(control.flag, text)) + terms

    def _terms(self, entry: Always | Control, context: Context) -> Terms:
        return Terms(
            words=words(entry.words, context, self.where),
            env={name: word(text, context, self.where) for name, text in entry.env.items()},
            config=self._values(entry.config, context),
            objects={
                flag: self._values(entries, context)
                for flag, entries in entry.json_flags.items()
            },
        )

    def _values(self, entries: Mapping[str, object], context: Context) -> dict[str, object]:
        return {key: value(item, context, self.where) for key, item in entries.items()}

    def _ruled_out(self, variable: Variable) -> bool:
        return bool(self._holding(variable.uncontrolled))

    def _holding(self, entries: Iterable[W]) -> tuple[W, ...]:
        return tuple(
            entry
            for entry in self.release.formed(entries, self.form)
            if truth(entry.when, self.context, self.where)
        )

    def _read_back(self, name: str) -> str | None:
        readings = self.launch.report.settings.get(name, ())
        for reading in self.release.formed(readings, self.form):
            return f"{reading.dialect} {reading.path} {reading.key}".replace("  ", " ")
        return None

    def _place(self, name: str) -> str:
        return f"{self.where}, {name}"

    def _refuse(self, name: str, seen: str) -> NoReturn:
        raise CatalogError(
            self._place(name),
            f"{self.release.runtime}: {seen}",
            "Leave it out, or choose another runtime or release",
        )


def together(parts: Iterable[Terms]) -> Terms:
    """All terms as one, in their order."""
    whole = Terms()
    for part in parts:
        whole += part
    return whole


def shown(stated: object) -> str:
    """A value as files write it."""
    return str(stated).lower() if isinstance(stated, bool) else str(stated)

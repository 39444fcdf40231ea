"""A candidate and a runtime become a launch plan: same input, same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import yaml

from deploy_templates.clashes import check_unmanaged
from deploy_templates.container import removal_words, run_words
from deploy_templates.controlled import Answer, Asking, Terms, shown, together
from deploy_templates.fingerprint import fingerprint_of, neutral
from deploy_templates.needs import needs_of
from deploy_templates.plan import (
    Asked,
    Health,
    Install,
    LaunchPlan,
    Readiness,
    Report,
    Reported,
    Unmanaged,
)
from deploy_templates.request import LaunchRequest
from deploy_templates.runtime_folder import RuntimeFolder
from deploy_templates.schema import Reading
from deploy_templates.setting import LOOPBACK, Setting, setting_of
from deploy_templates.words import Context, script, words

INHERITED = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LD_LIBRARY_PATH",
    "NO_PROXY",
    "PATH",
    "SSL_CERT_FILE",
    "TMPDIR",
    "USER",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
_BYTES_PER_GIB = 2**30
_VISIBLE = {
    "cuda": "CUDA_VISIBLE_DEVICES",
    "rocm": "HIP_VISIBLE_DEVICES",
    "gaudi": "HABANA_VISIBLE_DEVICES",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The engine's own words with every controlled variable's answer."""

    setting: Setting
    served: Terms
    answers: Mapping[str, Answer]

    @property
    def env(self) -> dict[str, str]:
        """The server's environment: what the launch sets, then the candidate's own."""
        request = self.setting.request
        variable = _VISIBLE.get(request.device_class)
        seen = ",".join(str(device) for device in request.devices)
        visible = (
            {variable: seen} if variable and seen and not self.setting.in_container else {}
        )
        return {**self.served.env, **visible, **request.extra_env}

    @property
    def secret_env(self) -> tuple[str, ...]:
        """Names that are handed on by value without being written down."""
        is_hub = self.setting.request.checkpoint.kind == "hub"
        return self.setting.runtime.launch.secret_env if is_hub else ()


def render(request: LaunchRequest, runtime: RuntimeFolder) -> LaunchPlan:
    """The launch plan of a candidate under a runtime, with its fingerprint.

    Raises
    ------
    CatalogError
        For a release or form that the runtime lacks, a variable that it cannot control, an
        argument that clashes with what runoff manages, and addresses that offline forbids.
    """
    same = neutral(request)
    return replace(
        _plan(request, runtime), fingerprint=fingerprint_of(_plan(same, runtime), same)
    )


def _plan(request: LaunchRequest, runtime: RuntimeFolder) -> LaunchPlan:
    setting = setting_of(request, runtime)
    check_unmanaged(request, runtime.launch, setting.where)
    rendered = _rendered(setting)
    argv = _argv(rendered)
    launch = runtime.launch
    return LaunchPlan(
        runtime=runtime.name,
        version=request.version,
        mode=setting.form.mode,
        form=setting.form.name,
        simulation=runtime.capabilities.simulation,
        name=request.name,
        argv=argv,
        env={} if setting.in_container else dict(sorted(rendered.env.items())),
        inherit_env=INHERITED,
        secret_env=rendered.secret_env,
        files=_files(rendered, argv),
        working_directory=".",
        host=LOOPBACK,
        port=request.port,
        served_model=setting.listed_model,
        health=_health(setting),
        readiness=_readiness(setting),
        report=_report(rendered),
        metrics=next(
            (
                spec.metrics
                for spec in setting.release.formed(launch.metrics, setting.form.name)
            ),
            None,
        ),
        stop=launch.stop,
        cleanup=removal_words(setting),
        failures=launch.failures,
        phases=launch.phases,
        install=Install(mode=setting.form.mode, script=_install(rendered)),
        needs=needs_of(setting),
        controlled={name: answer.controlled for name, answer in rendered.answers.items()},
        threats=tuple(_threats(rendered)),
        unmanaged=Unmanaged(
            image=request.image, extra_args=request.extra_args, extra_env=request.extra_env
        ),
        fingerprint="",
    )


def _rendered(setting: Setting) -> Rendered:
    asking = Asking(
        launch=setting.runtime.launch,
        release=setting.release,
        form=setting.form.name,
        context=setting.context(),
        where=setting.where,
    )
    answers = asking.answers(setting.request.variables)
    served = together((asking.always(), *(answer.terms for answer in answers.values())))
    return Rendered(setting=setting, served=served, answers=answers)


def _argv(rendered: Rendered) -> tuple[str, ...]:
    setting = rendered.setting
    command = words(setting.form.command, setting.context(), setting.where)
    served = (*command, *rendered.served.command_words(), *setting.request.extra_args)
    if setting.in_container:
        return run_words(setting, served, rendered.env, rendered.secret_env)
    if setting.request.cpus:
        cores = ",".join(str(core) for core in setting.request.cpus)
        return (setting.program("taskset"), "--cpu-list", cores, *served)
    return served


def _files(rendered: Rendered, argv: tuple[str, ...]) -> dict[str, str]:
    setting = rendered.setting
    texts, config = setting.runtime.texts, setting.config_file
    files = {name: texts[name] for name in setting.form.scripts}
    if config is not None:
        files[config.path] = _configuration(config.format, rendered.served.config)
    files["serve.sh"] = script(
        texts, "serve.sh.j2", {**_script_context(rendered), "argv": argv}
    )
    return files


def _install(rendered: Rendered) -> str:
    return script(rendered.setting.runtime.texts, "install.sh.j2", _script_context(rendered))


def _script_context(rendered: Rendered) -> Context:
    setting = rendered.setting
    return {
        **setting.context(),
        "env": rendered.env,
        "secret_env": rendered.secret_env,
        "packages": setting.packages,
        "program_name": setting.program(setting.form.program),
        "image": setting.image_reference if setting.in_container else None,
        "engine": setting.program(setting.runtime.container.engine),
    }


def _configuration(form: str, entries: Mapping[str, object]) -> str:
    """Dotted keys as the nested mapping of a configuration file."""
    nested: dict[str, object] = {}
    for key, entry in sorted(entries.items()):
        *outer, last = key.split(".")
        place = nested
        for step in outer:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                raise TypeError(f"{key}: {step} is a value and a mapping")
            place = inner
        place[last] = entry
    if form == "json":
        return json.dumps(nested, indent=1, sort_keys=True) + "\n"
    return yaml.safe_dump(nested, sort_keys=True, allow_unicode=True)


def _health(setting: Setting) -> Health:
    spec = setting.first(setting.runtime.launch.health, "health")
    return Health(path=spec.path, ready_status=spec.ready_status)


def _readiness(setting: Setting) -> Readiness:
    spec = setting.readiness
    gib = (setting.request.weight_bytes or 0) / _BYTES_PER_GIB
    return Readiness(
        models_path=spec.models_path,
        completion_path=spec.completion_path,
        dialect=spec.dialect,
        limit_s=round(spec.limit_s + gib * spec.limit_s_per_gib, 1),
    )


def _report(rendered: Rendered) -> Report:
    setting = rendered.setting
    spec, form = setting.runtime.launch.report, setting.form.name
    versions = setting.release.formed(spec.version, form)
    asked = {name: answer.controlled.asked for name, answer in rendered.answers.items()}
    return Report(
        version=_reported("version", versions[0], setting.release.asked) if versions else None,
        settings=tuple(
            _reported(name, reading, asked[name])
            for name, readings in spec.settings.items()
            for reading in setting.release.formed(readings, form)[:1]
        ),
    )


def _reported(name: str, reading: Reading, asked: Asked) -> Reported:
    text = None if asked is None else shown(asked)
    expected = None if text is None else reading.values.get(text, text)
    return Reported(
        variable=name,
        path=reading.path,
        key=reading.key,
        dialect=reading.dialect,
        compare="record" if expected is None else reading.compare,
        expected=expected,
    )


def _threats(rendered: Rendered) -> Iterable[str]:
    setting = rendered.setting
    request, runtime = setting.request, setting.runtime
    launch = runtime.launch
    if setting.release.threat:
        yield setting.release.threat
    yield from launch.threats
    yield from setting.form.threats
    if setting.release.known not in launch.verified:
        yield (
            f"{setting.runtime.name} {setting.release.known} is rendered only: its flags were "
            "not compared with those that the release declares"
        )
    for answer in rendered.answers.values():
        yield from answer.threats
    unseen = [name for name, answer in rendered.answers.items() if answer.is_unseen]
    if unseen:
        yield f"left to the engine's defaults, which it does not report: {', '.join(unseen)}"
    is_named = request.checkpoint.kind == "hub" and not runtime.capabilities.simulation
    if is_named and request.variables.revision is None:
        yield "the checkpoint's revision is not pinned: the hub's main branch may move"
    if request.checkpoint.kind == "path" and request.checkpoint.sha256 is None:
        yield "the checkpoint's content has no digest: its folder could hold something else"
    if setting.in_container and "@" not in setting.image_reference:
        yield f"image {setting.image_reference} is named by tag: its digest is recorded at pull"
        if setting.image is not None and setting.image.unverified and not request.image:
            yield "that tag follows the project's naming: whether it exists shows at the pull"
    if request.extra_args or request.extra_env or request.image:
        yield "the candidate's own image, arguments or environment are not managed by runoff"

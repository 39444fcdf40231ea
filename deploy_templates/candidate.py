"""A campaign's candidate as a launch request: what it states, and what the contract implies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from catalog.architecture import UnknownArchitecture, kv_precision, precision, read_config
from catalog.architecture.weights import weight_bytes
from catalog.complaints import did_you_mean
from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.facts import model_of
from catalog.schema import Campaign, Candidate, Model
from catalog.schema.fields import Strict, Whole
from deploy_templates.plan import Mode
from deploy_templates.request import Checkpoint, LaunchRequest, Mirrors, Variables
from deploy_templates.runtime_folder import RuntimeFolder
from deploy_templates.schema import VARIABLES, Form
from deploy_templates.setting import first_form
from deploy_templates.words import compact

DEFAULT_PORT = 8000
ALIASES = {
    "gpu_memory_utilization": "memory_utilisation",
    "mem_fraction_static": "memory_utilisation",
    "context_length": "max_model_len",
    "max_seq_len": "max_model_len",
    "max_num_seqs": "max_sequences",
    "max_running_requests": "max_sequences",
    "max_num_batched_tokens": "token_budget",
    "max_num_tokens": "token_budget",
    "enable_prefix_caching": "prefix_caching",
    "enable_chunked_prefill": "chunked_prefill",
    "enforce_eager": "eager",
}
_ELSEWHERE = {
    "weights": "precision",
    "kv_cache": "kv_precision",
    "tensor_parallel": "tensor_parallel",
    "pipeline_parallel": "pipeline_parallel",
    "data_parallel": "data_parallel",
    "expert_parallel": "expert_parallel",
    "draft_model": "speculation",
    "draft_tokens": "speculation",
    "draft_method": "speculation",
    "offload_gib": "offload",
}
_SIXTEEN_BIT = ("bfloat16", "float16")
_ONLINE = ("fp8",)
_BYTES_PER_GIB = 2**30
_SLOT_TOKENS = 256
T = TypeVar("T")


class Places(Strict):
    """How and where a candidate is started, as its settings state it."""

    mode: Mode | None = None
    form: str | None = None
    cpus: tuple[Whole, ...] = ()
    devices: tuple[Whole, ...] = ()
    programs: dict[str, str] = Field(default_factory=dict)
    served_model: str | None = None
    port: Whole = Field(default=DEFAULT_PORT, ge=1, le=65535)


_PLACES = TypeAdapter(Places)
_VARIABLES = TypeAdapter(Variables)


def launch_request(
    campaign: Campaign,
    candidate: Candidate,
    catalog: Catalog,
    runtime: RuntimeFolder,
    *,
    local_class: str,
) -> LaunchRequest:
    """What the candidate asks of its runtime; ``local_class`` is this machine's device class.

    Raises
    ------
    CatalogError
        For settings that no runtime has, names that the catalog lacks, and a precision in
        which the catalog knows no checkpoint.
    """
    where = f"candidate {candidate.name!r}"
    settings, started = _told_apart(candidate, f"{where}, settings")
    places = _validated(_PLACES, started, f"{where}, settings")
    implied = _implied(campaign, candidate, runtime)
    if "context_per_slot" in settings:
        implied.pop("max_model_len", None)
    variables = _validated(_VARIABLES, {**implied, **settings}, f"{where}, settings")
    model = model_of(catalog, campaign.contract.model)
    weights = variables.weights or model.reference_precision
    name, quantization = _checkpoint_name(model, weights, candidate, where)
    if quantization is not None and variables.quantization is None:
        variables = replace(variables, quantization=quantization)
    release = candidate.version or runtime.newest
    device_class = _device_class(candidate, catalog, local_class)
    form = _form(candidate, places, runtime, release, device_class)
    return LaunchRequest(
        name=candidate.name,
        runtime=runtime.name,
        version=release,
        mode=form.mode,
        variant=form.name,
        model=name,
        port=places.port,
        device_class=device_class,
        served_model=places.served_model,
        checkpoint=_checkpoint(candidate, runtime),
        weight_bytes=_weight_bytes(model, weights),
        variables=variables,
        cpus=places.cpus,
        devices=places.devices,
        mirrors=Mirrors(**campaign.mirrors.model_dump()),
        offline=campaign.offline,
        programs=places.programs,
        image=candidate.image,
        extra_args=candidate.extra_args,
        extra_env=candidate.extra_env,
    )


def _told_apart(candidate: Candidate, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings that are controlled variables, and those that say how it is started."""
    variables: dict[str, Any] = {}
    places: dict[str, Any] = {}
    for key, value in candidate.settings.items():
        name = ALIASES.get(key, key)
        if name in _ELSEWHERE:
            raise CatalogError(
                where,
                f"{key} is stated beside the settings, not in them",
                f"Write {_ELSEWHERE[name]}: at the candidate",
            )
        if name in variables:
            raise CatalogError(where, f"{name} is stated twice", "Drop one of them")
        if name not in VARIABLES and name not in Places.model_fields:
            known = (*VARIABLES, *ALIASES, *Places.model_fields)
            raise CatalogError(where, f"no runtime has {key!r}", did_you_mean(key, known))
        (variables if name in VARIABLES else places)[name] = value
    return variables, places


def _validated(adapter: TypeAdapter[T], values: Mapping[str, Any], where: str) -> T:
    """The values as their type; a number is no text, and a flag no number."""
    try:
        return adapter.validate_json(compact(dict(values)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise CatalogError(
            f"{where}.{place}", f"{first['input']!r} does not do", first["msg"]
        ) from None


def _implied(
    campaign: Campaign, candidate: Candidate, runtime: RuntimeFolder
) -> dict[str, Any]:
    """Variables that the candidate's other keys and the contract state."""
    contract, speculation = campaign.contract, candidate.speculation
    implied: dict[str, Any] = {
        "weights": precision(candidate.precision or contract.precision.weights).name,
        "kv_cache": kv_precision(candidate.kv_precision or contract.precision.kv_cache).name,
        "tensor_parallel": candidate.tensor_parallel,
        "seed": campaign.matrix.seed,
        "prefix_caching": contract.cached_prefix_tokens > 0,
        "stream_interval": 1,
        "generation_config": "engine",
    }
    for name in ("sequence_parallel", "context_parallel"):
        if getattr(candidate, name) > 1:
            raise CatalogError(
                f"candidate {candidate.name!r}, {name}",
                "no runtime here is launched with it",
                "Drop it, or measure the server as an endpoint",
            )
    for name in ("pipeline_parallel", "data_parallel", "expert_parallel"):
        degree = getattr(candidate, name)
        if degree > 1:
            implied[name] = degree
    if candidate.offload is not None:
        implied["offload_gib"] = candidate.offload.value / _BYTES_PER_GIB
    if speculation is not None:
        implied |= {
            "draft_model": speculation.draft_model,
            "draft_tokens": speculation.draft_tokens,
            "draft_method": speculation.method,
        }
    if runtime.launch.slots:
        implied |= _slots(campaign)
    return implied


def _slots(campaign: Campaign) -> dict[str, int]:
    """A slot for every stream of the campaign, each long enough for the longest request."""
    contract = campaign.contract
    longest = contract.prompt_tokens.maximum + contract.output_tokens.maximum
    padded = -(-longest // _SLOT_TOKENS) * _SLOT_TOKENS
    streams = max(campaign.matrix.concurrency, default=1)
    return {"max_sequences": max(streams, contract.concurrency or 1), "max_model_len": padded}


def _checkpoint_name(
    model: Model, weights: str, candidate: Candidate, where: str
) -> tuple[str, str | None]:
    """The hub's name of the weights, and how the engine must quantise them; None: as it is."""
    by_precision = {each.precision: each.name for each in model.checkpoints}
    if weights in by_precision:
        return by_precision[weights], None
    reference = by_precision.get(model.reference_precision, model.name)
    if candidate.checkpoint != "hub" or weights in _SIXTEEN_BIT:
        return reference, None
    if weights in _ONLINE:
        return reference, weights
    if weights.startswith("gguf_"):
        return reference, None
    raise CatalogError(
        f"{where}, precision",
        f"the catalog knows no checkpoint of {model.name} in {weights}",
        "Give its path as checkpoint, or list it among the model's checkpoints",
    )


def _form(
    candidate: Candidate,
    places: Places,
    runtime: RuntimeFolder,
    release: str,
    device_class: str,
) -> Form:
    """The stated form, else the first of the stated mode (a stated image: container)."""
    if places.form is not None:
        return runtime.form(places.form)
    mode = places.mode
    if mode is None and candidate.image is not None:
        mode = "container"
    return first_form(runtime, release, mode, device_class, f"candidate {candidate.name!r}")


def _checkpoint(candidate: Candidate, runtime: RuntimeFolder) -> Checkpoint:
    """Where the weights will lie; what is made or fetched first has its place by then."""
    ending = ".gguf" if runtime.launch.loads_files else ""
    if candidate.checkpoint == "hub":
        return Checkpoint(location=f"checkpoint{ending}" if ending else None)
    if candidate.checkpoint == "dummy":
        return Checkpoint(kind="dummy", location=f"checkpoint{ending}")
    return Checkpoint(kind="path", location=candidate.checkpoint)


def _device_class(candidate: Candidate, catalog: Catalog, local_class: str) -> str:
    if candidate.offer is not None:
        return catalog.device(catalog.offer(candidate.offer).device).device_class
    if candidate.device is not None:
        return catalog.device(candidate.device).device_class
    return local_class


def _weight_bytes(model: Model, weights: str) -> int | None:
    """Bytes of the weights, to scale the wait; None where the architecture is not modelled."""
    try:
        return int(weight_bytes(read_config(model.config), precision(weights)))
    except UnknownArchitecture:
        return None

"""The facts that all candidates of a campaign share: contract, model, catalog, runtimes."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from catalog.architecture import (
    Architecture,
    KvPrecision,
    Precision,
    UnknownArchitecture,
    kv_precision,
    precision,
    read_config,
)
from catalog.architecture.checkpoint import read_checkpoint
from catalog.complaints import did_you_mean
from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.placement import CPU_CLASSES
from catalog.quantity import Quantity
from catalog.schema import Campaign, Device, Model, Offer, Runtime
from catalog.sums import Arithmetic
from catalog.terms import Terms, terms_of

PARITY = "contract"
NEEDS_QUALITY_PROOF = "needs quality proof"
_NO_FILE = ("hub", "dummy")
_FILE_ENDINGS = (".gguf", ".safetensors", ".index.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one campaign's candidates are resolved with; ``today`` ages the prices.

    ``arch`` is None where the model's architecture is not modelled, for ``gap``'s reason.
    """

    campaign: Campaign
    catalog: Catalog
    runtimes: Mapping[str, Runtime]
    today: dt.date
    terms: Terms
    model: Model
    arch: Architecture | None
    gap: str
    weights: Precision
    kv: KvPrecision
    _arithmetic: dict[str, Arithmetic] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        campaign: Campaign,
        catalog: Catalog,
        runtimes: Mapping[str, Runtime],
        today: dt.date,
    ) -> Facts:
        """Facts for the campaign's contract; CatalogError for names that the catalog lacks."""
        model = model_of(catalog, campaign.contract.model)
        arch, gap = _architecture(model)
        return cls(
            campaign=campaign,
            catalog=catalog,
            runtimes=runtimes,
            today=today,
            terms=terms_of(campaign),
            model=model,
            arch=arch,
            gap=gap,
            weights=precision(campaign.contract.precision.weights),
            kv=kv_precision(campaign.contract.precision.kv_cache),
        )

    def arithmetic(self, arch: Architecture, checkpoint: str) -> Arithmetic:
        """Sums for the model, from a checkpoint's own headers where a path is given."""
        key = checkpoint if _is_file(checkpoint) else ""
        if key not in self._arithmetic:
            held = read_checkpoint(Path(key), len(arch.layers)) if key else None
            self._arithmetic[key] = Arithmetic.of(arch, self.terms, held)
        return self._arithmetic[key]

    def runtime(self, name: str) -> Runtime:
        """The runtime of this name; CatalogError with the nearest name if there is none."""
        if name not in self.runtimes:
            raise CatalogError(
                f"runtime {name!r}",
                "no runtime has this name",
                did_you_mean(name, self.runtimes),
                value=name,
            )
        return self.runtimes[name]

    def parity(self, weights: Precision, kv: KvPrecision) -> str:
        """Whether both number formats are the contract's."""
        same = weights.name == self.weights.name and kv.name == self.kv.name
        return PARITY if same else NEEDS_QUALITY_PROOF


def model_of(catalog: Catalog, name: str) -> Model:
    """A model of the catalog, or of a ``config.json`` (or its folder) that ``name`` names."""
    path = Path(name)
    file = path / "config.json" if path.is_dir() else path
    if file.suffix != ".json" or not file.is_file():
        return catalog.model(name)
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CatalogError(
            str(file), f"not JSON ({error})", "Give a model's config.json"
        ) from None
    if not isinstance(config, dict):
        raise CatalogError(str(file), "not a mapping", "Give a model's config.json")
    return Model(name=name, source=str(file), verified=True, config=config)


def _architecture(model: Model) -> tuple[Architecture | None, str]:
    try:
        return read_config(model.config), ""
    except UnknownArchitecture as unknown:
        return None, f"the architecture of {model.name}: {unknown.reason}"


def _is_file(checkpoint: str) -> bool:
    if checkpoint in _NO_FILE:
        return False
    return checkpoint.endswith(_FILE_ENDINGS) or Path(checkpoint).exists()


def memory_of(device: Device, offer: Offer | None) -> Quantity | None:
    """Reported memory of a device; for a CPU that of its host, where the offer states it."""
    if device.device_class in CPU_CLASSES:
        return host_memory_of(offer) or device.memory
    return device.memory


def host_memory_of(offer: Offer | None) -> Quantity | None:
    """The host's memory with its row's source; None where it is not stated."""
    if offer is None or offer.host.memory is None:
        return None
    return replace(offer.host.memory, source=offer.source, date=offer.date)

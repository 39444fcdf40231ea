"""The files that users write, as pydantic models: known keys, numbers with units."""

from catalog.schema.campaign import Campaign, Candidate, Contract, Matrix
from catalog.schema.device import Device, Link
from catalog.schema.model import Checkpoint, Model
from catalog.schema.offer import Offer, OfferFile, Ownership
from catalog.schema.runtime import Runtime

__all__ = [
    "Campaign",
    "Candidate",
    "Checkpoint",
    "Contract",
    "Device",
    "Link",
    "Matrix",
    "Model",
    "Offer",
    "OfferFile",
    "Ownership",
    "Runtime",
]

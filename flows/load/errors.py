"""What can be wrong before or around a run.

LoadError
├── PlanError      the plan file cannot be read or contradicts itself
├── RawError       the raw file cannot be read
├── EndpointError  an endpoint's address, certificate file or host is unusable
├── CapacityError  this machine cannot hold the connections that the plan asks for
└── LateError      the time at which the plan was to begin had passed
"""


class LoadError(Exception):
    """The load process cannot do what the plan says."""


class PlanError(LoadError):
    """The plan file cannot be read or contradicts itself."""


class RawError(LoadError):
    """The raw file cannot be read."""


class EndpointError(LoadError):
    """An endpoint's address, certificate file or host is unusable."""


class CapacityError(LoadError):
    """The plan asks for more connections than the machine can hold."""


class LateError(LoadError):
    """The time at which the plan was to begin had passed before all was ready."""

"""One module per family: ``MODEL_TYPES`` that it reads, and ``read(fields)``."""

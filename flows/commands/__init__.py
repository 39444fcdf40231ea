"""One module per verb, found by scanning this folder; each has a function ``command``."""

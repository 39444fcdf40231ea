"""Microbenchmarks of a host: they turn assumed rates into measured ones."""

"""Measuring in a process of its own, beside the flow.

Its main thread hears Ctrl-C for the load, its sampler shares no interpreter with Prefect's
threads, it stays on the client's CPUs, and it ends with whoever has started it.
"""

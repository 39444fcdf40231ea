"""The load process: sends planned requests on time and records what came back.

A program of its own (`python -P -m flows.load PLAN RAW`): it needs Linux, the standard
library and httptools, reads one plan file and writes one raw file, so that it can run on
another host. What arrives is stamped by the kernel, kept as it came, and parsed afterwards
by whoever reads the raw file.
"""

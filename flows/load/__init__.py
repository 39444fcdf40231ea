"""The load process: sends planned requests on time and records what came back.

A program of its own (`python -P -m flows.load PLAN RAW`): it needs the standard library,
uvloop and httptools, reads one plan file and writes one raw file, so that it can run on
another host. Nothing is parsed while it measures.
"""

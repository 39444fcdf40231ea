"""A machine's accelerators as their driver tells them, held against what was ordered."""

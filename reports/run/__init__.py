"""The run directory: what a campaign leaves, its names and formats, and how it is read."""

"""The only place that acts on the world: commands, load, and later machines and campaigns."""

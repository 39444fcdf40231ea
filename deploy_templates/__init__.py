"""How a candidate is started: runtimes as data and templates."""

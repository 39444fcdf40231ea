"""Many runs as one history: facts per run, series of comparable runs, a site and a table."""

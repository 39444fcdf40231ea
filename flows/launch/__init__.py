"""A plan becomes a running server of which we know that it is the one we asked for."""

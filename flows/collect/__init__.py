"""The server's own account of a cell: read, subtracted, and never more than it can tell."""

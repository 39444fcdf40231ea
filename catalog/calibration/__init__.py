"""What a host was measured to reach: its file, the fits, and how gates take it."""

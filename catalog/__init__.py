"""What is known before a machine starts: facts with their sources, and arithmetic on them."""

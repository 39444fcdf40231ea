"""The home side of a load test: plans a cell, has it run, and says what it showed."""

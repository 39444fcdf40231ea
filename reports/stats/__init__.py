"""Statistics of measured cells: pure functions of arrays, each with its source."""

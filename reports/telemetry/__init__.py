"""What a machine's samples say of a cell: clocks, energy, what held it back, what voids it."""

"""A machine's clocks, power, temperatures and counters, sampled beside a measurement."""

"""Whether this machine is fit to measure on: what is here, what is missing, what disturbs."""

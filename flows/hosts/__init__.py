"""A campaign's machines, once they are ours: this one, and those that are entered over SSH.

Both are used by the same calls: looked at, set up, given servers and load, sampled, put back.
"""

"""Machines of AWS EC2: what is asked, how answers read, what is made and removed.

Nothing here imports AWS's library: calls go through ``api.Api``, which the driver gives.
"""

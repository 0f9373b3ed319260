"""Was it right? Reads the history of a run and judges it; starts no servers and injects no faults.

The package `fencepost` has the names for users.
"""

"""Planted bugs: locks and storages as people really write them, each wrong in one way.

Each is a class that fits the protocols of `workloads.client`, in a file named for its
mistake; what is right in it is the right client's own code. The target files in
`targets/zoo` run each bug beside its correct twin.
"""

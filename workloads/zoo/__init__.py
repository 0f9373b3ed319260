"""Planted bugs: locks and storages as people really write them, each with one mistake.

Each is a class that implements the protocols of `workloads.client`, in a file named for its
mistake; everything else in it calls the correct client. The target files in `targets/zoo`
run each bug and its correct twin.
"""

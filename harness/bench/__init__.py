"""Measure what a lock and a fence cost, without faults, on the servers of a target."""

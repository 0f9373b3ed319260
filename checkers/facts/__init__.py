"""Answers about a history, each computed once: log order, clusters, holds and leases, hits of faults."""

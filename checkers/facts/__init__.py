"""Everything asked of a history, once: the order of the log, clusters, holds and leases, hits of faults."""

"""One file for each anomaly: what it is, how it is found, its proof and its story."""

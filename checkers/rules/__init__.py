"""The rules, a file for each anomaly: its definition, how it is found, its proof and its story."""

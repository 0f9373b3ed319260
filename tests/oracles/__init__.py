"""Definitions of the anomalies, slow and plain, which the fast checkers are tested against."""

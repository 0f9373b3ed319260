"""Findings in plain words: the smallest proof, its cycle, and the sentences that all rules share."""

"""Findings in words: the smallest set of operations that is wrong by itself, and why it is."""

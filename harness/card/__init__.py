"""The report card of a lock library: a fixed series of runs, and what they showed in one row."""

"""The verdict: run every rule, join the findings, count what was exercised, and name notices and reasons."""

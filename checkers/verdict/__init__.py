"""The verdict: every rule run, findings joined, what was exercised counted, notices and reasons."""

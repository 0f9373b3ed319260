"""The words of a verdict: anomalies, faults, hazards, counts and reasons, and its document."""

"""The words of a verdict: anomalies, faults, hazards, counts and reasons, and the document that holds them."""

"""Measurements quoted in the documentation, each repeatable by one command."""

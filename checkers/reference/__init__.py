"""Slow and plain reference definitions, which the fast checkers are tested against."""

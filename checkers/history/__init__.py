"""Histories: the records, their columns, and how files become them."""

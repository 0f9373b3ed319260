"""The definitions themselves, slow and plain: what the fast checkers are held against."""

"""Reference definitions as graphs, slow and plain: the fast rules are tested against them."""

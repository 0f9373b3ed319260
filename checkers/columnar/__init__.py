"""Long histories as numpy columns: the same rules, asked of all operations at once."""

"""Why no order explains a history: the operations that show it, and the sentences."""

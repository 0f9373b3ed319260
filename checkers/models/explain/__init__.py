"""Why no order explains a history: the proving operations, and the sentences."""

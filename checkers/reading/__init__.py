"""From the lines of recorded files to the operations of a history."""

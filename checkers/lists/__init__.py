"""Rules of lists that clients append to under a lock."""

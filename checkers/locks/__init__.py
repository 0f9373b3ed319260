"""Rules of lock services: their tokens, their leases, and whether they ever give the lock again."""

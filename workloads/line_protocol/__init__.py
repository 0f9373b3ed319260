"""The line protocol: a user's program, in any language, as the client of a run.

The program reads one JSON object per line and answers each with one; `docs/adapters.md`
describes it. `messages` defines the types, `pipe` carries lines, `program_client` pairs
requests with answers, and `clients` builds a lock and a storage on top.
"""

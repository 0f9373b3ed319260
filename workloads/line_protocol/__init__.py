"""The line protocol: a program of the user's own, in any language, as the client of a run.

It reads one JSON object a line and answers each with one; `docs/adapters.md` is its page.
`messages` has what is said, `pipe` carries it, `conversation` pairs requests and answers,
and `clients` makes a lock and a storage of that.
"""

"""Non-linearizable: no order of the operations explains the history, and no narrower name fits.

- `misreads`: a read returned a value that was not written, not yet, or with another token.
- `found_lists`: an append read such a list before it wrote its own.
- `false_or_stale`: either a rejection was false, or what came after it was stale.
- `commit_order`: the storage's own order contradicts real time, or what clients saw.
- `mismatched_commits`: the storage's own order has a commit that no client sent.

`stale_reads` finds values that alternate under one token.
"""

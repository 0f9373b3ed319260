"""Non-linearizable: no order of the operations explains the history, and no narrower name fits.

- `misreads`: a read returned what nobody wrote, or not yet, or with another token.
- `found_lists`: an append read such a list before it wrote its own.
- `false_or_stale`: either a rejection was false, or what came after it was stale.
- `commit_order`: the storage's own order contradicts real time, or what clients saw.
- `mismatched_commits`: that order has what no client sent.

Values that alternate under one token are with the rule that finds them, `stale_reads`.
"""

"""Campaigns: many runs, every night, with what they mean together.

A campaign file (`campaign_file`) names targets and a matrix; `cells` expands them, `schedule` orders
the runs and splits them over shards, `execution` runs each in a process, and `campaign` keeps the
whole going. `folder` is what a night leaves, `results` what all nights know, and `status` compares them.
"""

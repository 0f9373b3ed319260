"""Campaigns: many runs, every night, and what they show together.

A campaign file (`campaign_file`) names targets and a matrix; `cells` expands them, `schedule` orders
the runs and splits them over shards, `execution` runs each in a process, and `campaign` keeps the
whole going. `night` is the folder of one night, `results` the database of all, and `status` compares them.
"""

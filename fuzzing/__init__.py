"""Rubbish for everything that reads what others wrote: `python -m fuzzing`, or `make fuzz`.

surfaces   what is attacked: targets, settings, histories, run folders, formats of other tools, names,
           answers of client programs and of HTTP services
edits      how a file of the repository becomes a hostile one (Hypothesis draws the edits)
sandbox    a case runs in a process of its own, with limits on time and memory
campaign   cases until a number or a time is reached; what failed is kept
guided     the same readers under Atheris, which looks for input that reaches new code
"""

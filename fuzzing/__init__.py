"""Fuzzing of everything that reads untrusted input: `python -m fuzzing`, or `make fuzz`.

surfaces   the attack surfaces: targets, settings, histories, run folders, formats of other tools, names,
           answers of client programs and of HTTP services
edits      turns a file of the repository into a hostile one (Hypothesis draws the edits)
sandbox    runs a case in a separate process, with limits on time and memory
campaign   runs cases up to a number or a time, and keeps those that fail
hostile    attacks on what is printed and written: hostile text, and surprises in folders
guided     the same readers under Atheris, which searches for input that reaches new code
"""

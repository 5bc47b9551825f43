"""How fast it is: one file a question, against bare limits and against peers, in one run.

Run `python -m bench` for every question, `python -m bench pair tasks --quick` for a look.
Nothing is asserted about times: this is not a test.
"""

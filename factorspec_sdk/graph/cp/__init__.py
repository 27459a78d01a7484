"""The CP-SAT tier: components that the own search does not finish within its budget.

::

    model.py        variables, literals and linear expressions on CP-SAT's protocol buffer
    encoded.py      what a value or a condition is in a model: numbers, other codes, three truth values
    encoder.py      slots and nodes -> model; which encoder takes which class of node
    encode_*.py     one family of nodes each; encode_residuals.py takes every class without its own
    families.py     the table of encoders
    solving.py      questions: a solution, an optimum, within a deterministic time
    component.py    a component of the factor graph by questions; tier.py the way to it
    backed.py       the own search, with single questions asked of CP-SAT
    optimum.py      the best value of a component
    conflict.py     relations that contradict each other

OR-Tools is imported when the first model is made: it takes a quarter of a second, and is an optional extra.
"""

"""Residual automata: conditions on slots that are read in writing order.

A condition's *residual* after a slot took a value is again a condition, on the slots that are
left (a Brzozowski derivative). Equal residuals are one object, so residuals are the states of a
deterministic automaton that is built as far as it is walked.
"""

"""Trip planner: a problem in, a valid itinerary out, as a day timeline in the terminal.

Run it with ``python -m examples.trip_planner --help``. The files, in reading order::

    problem.py        what is given: stays, fixed dates, direct flights; the problems that ship with it
    models.py         what is asked for: the itinerary as Pydantic models with relations, in three variants
    timeline.py       the itinerary as a day timeline, and where each token came from
    natural_plan.py   problems of the NATURAL PLAN benchmark, read from their text
    __main__.py       the command line
"""

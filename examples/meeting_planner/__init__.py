"""Meeting planner: a day among friends, or one slot that suits several calendars.

Run it with ``python -m examples.meeting_planner --help``. The files, in reading order::

    problem.py        what is given: people, places, hours, travel times; busy times for the calendar
    models.py         what is asked for: the schedule as Pydantic models with relations and an objective
    appointment.py    the calendar variant: one relation per person, made from data
    chart.py          a schedule as a day chart
    natural_plan.py   problems of the NATURAL PLAN benchmark
    __main__.py       the command line
"""

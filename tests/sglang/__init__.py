"""The real SGLang on this machine's processor, with our plugin.

::

    make ci-sglang                      installs SGLang, starts it with SmolLM2, runs the tests, kills it
    python -m tests.sglang --ranks 2    a small model, divided between two schedulers
    python -m tests.sglang --help

The tests of this package need the server that ``python -m tests.sglang`` starts; elsewhere they are skipped.
"""

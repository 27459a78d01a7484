"""The unmodified ``openai`` package against a server: ours, or any other that is named by environment.

::

    pytest tests/conformance/openai_package              our server: a scripted model, and SmolLM2
    FACTORSPEC_CONFORMANCE_REAL=1                        with SmolLM2 all of them, not the few marked ``real``
    make openai-versions                                 the same in the oldest supported release of openai

    FACTORSPEC_CONFORMANCE_URL=http://127.0.0.1:30000/v1 another server, which runs already
    FACTORSPEC_CONFORMANCE_MODEL=name                    of its models; default: the first that it lists
    FACTORSPEC_CONFORMANCE_KEY=secret                    its key; default: it asks for none
    FACTORSPEC_CONFORMANCE_CAPABILITIES=chat,record      what to test; default: all of ``target.CAPABILITIES``
                                       =all,-health,-n   or all but some

A test says with ``@pytest.mark.needs("...")`` what it takes for granted; where the server is not said to have
it, the test is skipped by name. The tests import ``openai``, ``pydantic`` and ``pytest`` with pytest-timeout,
and nothing of FactorSpec unless they have to start a server, so they run in an environment of no more than::

    pip install openai==2.6.1 pytest pytest-timeout
    FACTORSPEC_CONFORMANCE_URL=... python -m pytest -c tests/conformance/openai_package/alone.ini \\
        tests/conformance/openai_package
"""

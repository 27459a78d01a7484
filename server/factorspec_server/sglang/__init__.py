"""The plugin for SGLang: records whose relations hold, from the server that people deploy.

Installed beside SGLang (``pip install factorspec``), it is found through two entry points:
``plugin.register`` (``sglang.srt.plugins``) and, for machines without CUDA, ``platform.activate``
(``sglang.srt.platforms``). Without SGLang nothing of it runs.

::

    HTTP process                                     scheduler process
    ───────────────────────────────                  ──────────────────────────────────────────────
    answers.py   reads requests with relations,      backend.py           grammar backend `factorspec`
                 puts their options into the      ─► envelope.py          schema text and its options
                 schema, echoes the spec's hash      relations.py         document ─► compiled spec
                                                     grammars.py          record ─► grammar object
    reports.py   counts of finished records       ◄─ session_grammar.py   one record: session, mask rows

Requests whose answer may be more than one record, since they offer tools with relations, go another way: they
are read, and their answers written, as by the embedded server, with SGLang's own ``/generate`` between::

    answer_service.py  request ─► answer_asked.py ─► served_chat.py (prompt) ─► generate_request.py ─►
                       answer  ◄─ answer_chunks.py ◄─ answer_choice.py (text, calls, thinking)      ◄─ SGLang

``compat.py`` is the only file that knows versions and private places of SGLang.

The speculative algorithm ``FACTORSPEC`` runs in the scheduler process, too::

    algorithm.py   what SGLang asks of an algorithm       worker.py    a verify step, from chains to tokens

Where several schedulers run one model together, the first one does all of this and the others follow it::

    ranks.py          messages between them     step_sharing.py, shared_step.py   a step
    shared_grammar.py records                    grammars.py                       who makes which

The seam for speculative workers is ``session_grammar.SessionGrammar``: ``session_grammar_of(req.grammar)``
is the grammar of a request that writes a record now; ``grammar.session`` is its session,
``grammar.plan(width)`` what to run next, ``grammar.end_id`` the token that follows a complete record.
"""

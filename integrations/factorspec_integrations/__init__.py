"""FactorSpec in the frameworks that people use already; one module or package each.

Neither the SDK nor the server imports anything of it. Importing this package brings no framework: its modules
do, and say which extra installs theirs.
"""

from factorspec_integrations.whole_schema import with_relations

__all__ = ["with_relations"]

"""The JSON texts that a schema admits, where no relation touches them: grammars for the grammar library."""

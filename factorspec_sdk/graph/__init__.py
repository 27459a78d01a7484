"""The factor graph of a spec and its exact feasibility; knows nothing of tokens."""

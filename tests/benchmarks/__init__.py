"""Benchmarks: run by hand or by ``make benchmarks``, not by the test suite. See README.md here."""

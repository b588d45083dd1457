"""The data: samples, verdicts on them, and recordings of both."""

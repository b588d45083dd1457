"""From verdicts to a score: a pure function."""

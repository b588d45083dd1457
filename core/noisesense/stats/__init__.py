"""Figures over many samples. The public names are those of `noisesense`.

- `summarize`, `Tally`: a run in figures, with intervals; `ragchecker_aggregates`.
- `compare`: is version B worse than version A, or is that noise?
- `trust`, `agreement`, `stability`, `sensitivity_band`, `prediction_powered`: how far to trust the
  judge.
- `offenders`: which documents mislead.

Pure functions over `noisesense.Result`; the standard library is all they need.
"""

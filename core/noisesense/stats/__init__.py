"""Figures over many samples. The public names are those of `noisesense`.

- `summarize`, `Tally`: a run in figures, with intervals.
- `gate_run`: does a run pass? What was not measured does not.
- `compare`: is version B worse than version A, or is that noise?
- `trust`, `trust_results`: a judge beside people's labels.
- `offenders`: which documents mislead.

Pure functions over `noisesense.Result`; the standard library is all they need.
"""

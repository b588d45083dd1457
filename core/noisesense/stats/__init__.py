"""Figures over many samples. The public names are those of `noisesense`.

- `summarize`, `Tally`: a run in figures, with intervals.
- `gate_run`: does a run pass? What was not measured does not.
- `compare`: is version B worse than version A, or is that noise?
- `trust`, `trust_results`, `calibrate`: a judge beside people's labels.
- `stability`: a judge beside itself.
- `sensitivity_band`: where a judge's errors would move the means.
- `offenders`: which documents mislead.

Pure functions over `noisesense.Result`; the standard library is all they need.
"""

"""One evaluation for every host, file and command: inputs, judge, score, wording."""

"""Read a row: the texts, chunks, labels and verdicts in it, for every host, file and assertion."""

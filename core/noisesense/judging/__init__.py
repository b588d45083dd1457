"""From texts to verdicts: the judge, what it asks a model, and what it keeps."""

"""Judging: candidates proposed for labelling, the verdicts, and the file they are written to."""

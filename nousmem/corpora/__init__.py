"""What evaluations run on: the Corpus type, the loaders, and the bundled corpora."""

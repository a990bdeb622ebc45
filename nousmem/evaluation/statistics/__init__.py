"""How sure one can be: paired intervals and tests, folds, and tuning judged on unseen queries."""

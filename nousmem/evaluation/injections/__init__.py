"""Injection: what an agent would be shown unasked, and how often it would be left alone."""

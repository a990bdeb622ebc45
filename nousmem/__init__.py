"""nousmem: agent memory, and the laboratory to tune it."""

__version__ = "0.1.0"

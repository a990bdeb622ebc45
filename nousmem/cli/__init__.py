"""The command `nousmem`: tables for people, JSON for programs."""

from __future__ import annotations

from nousmem.cli._app import main

__all__ = ["main"]

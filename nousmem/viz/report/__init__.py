"""The result of an experiment as one HTML page."""

from __future__ import annotations

from nousmem.viz.report._page import report_page, write_report

__all__ = ["report_page", "write_report"]

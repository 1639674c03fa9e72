"""One self-contained HTML page about a run, made from its folder alone."""

from newfound.report.page import render, write_report

__all__ = ["render", "write_report"]

"""Runs: a folder for everything that one fit produced (`run`), how it is made (`new_run`), and what is asked of it."""

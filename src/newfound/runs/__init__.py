"""Runs: a folder for everything that one fit produced, how it is made, and what is asked of it later.

new_run ──► folder (rows · model · derived: predictions · discovered · class_summaries · examples · scoring) ──► acts
on it; predictions and scores of other files
"""

from newfound.runs.act_log import LoggedAct
from newfound.runs.acting import Acted, act_on, caught_up, undo
from newfound.runs.class_summaries import ClassSummary
from newfound.runs.discovered import Discovered, headline, sentences
from newfound.runs.folder import Run, check_out, open_run
from newfound.runs.labelled import Wanted, predict_file
from newfound.runs.listener import Listener
from newfound.runs.new_run import fit_run
from newfound.runs.scoring import evaluate_file, evaluate_run
from newfound.runs.versions import versions
from newfound.runs.writing import Origin, write_run

__all__ = [
    "Acted",
    "ClassSummary",
    "Discovered",
    "Listener",
    "LoggedAct",
    "Origin",
    "Run",
    "Wanted",
    "act_on",
    "caught_up",
    "check_out",
    "evaluate_file",
    "evaluate_run",
    "fit_run",
    "headline",
    "open_run",
    "predict_file",
    "sentences",
    "undo",
    "versions",
    "write_run",
]

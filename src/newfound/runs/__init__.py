"""Runs: a folder for everything that one fit produced, how it is made, and what is asked of it later.

new_run ──► folder (rows · model · derived: predictions · discovered · class_summaries · class_descriptions · examples ·
scoring) ──► acts on it; suggestion_files ──► a person ──► given_labels ──► refit_run; predictions and scores of other
files
"""

from newfound.runs.act_log import LoggedAct
from newfound.runs.acting import Acted, act_on, caught_up, undo
from newfound.runs.atlas import write_atlas
from newfound.runs.class_summaries import ClassSummary
from newfound.runs.discovered import Discovered, headline, sentences
from newfound.runs.folder import Run, open_run
from newfound.runs.given_labels import GivenLabels, labels_since, read_given
from newfound.runs.labelled import Wanted, predict_file
from newfound.runs.listener import Listener
from newfound.runs.making import check_out
from newfound.runs.new_run import fit_run
from newfound.runs.refit_run import refit_run
from newfound.runs.scoring import evaluate_file, evaluate_run, which_is_which
from newfound.runs.suggestion_files import source_columns, suggest_for, suggestion_table
from newfound.runs.trust import RunAnswer, answer
from newfound.runs.versions import versions
from newfound.runs.writing import Origin, write_run

__all__ = [
    "Acted",
    "ClassSummary",
    "Discovered",
    "GivenLabels",
    "Listener",
    "LoggedAct",
    "Origin",
    "Run",
    "RunAnswer",
    "Wanted",
    "act_on",
    "answer",
    "caught_up",
    "check_out",
    "evaluate_file",
    "evaluate_run",
    "fit_run",
    "headline",
    "labels_since",
    "open_run",
    "predict_file",
    "read_given",
    "refit_run",
    "sentences",
    "source_columns",
    "suggest_for",
    "suggestion_table",
    "undo",
    "versions",
    "which_is_which",
    "write_atlas",
    "write_run",
]

"""The paper's tables and figures, computed again and laid beside what the paper prints.

printed.py, the paper's numbers; tasks.py, its data; presets.py, its settings and ours; cells.py, one fit and its
record; work.py, many of them; tables.py, figures.py and agreement.py, what becomes of the records; targets.py, which
table or figure needs which cells.
"""

"""The paper's tables and figures computed again, what the defaults reach, and the demo.

- published: the paper's numbers; tasks: the data; presets: the settings; baselines: what one would use instead
- experiment: one fit and its record; component_scores: its metrics; records: on disk; queue: many experiments
- summaries: means over seeds; table_files: Markdown and LaTeX
- paper_tables, paper_figures, agreement, defaults, claims: what is written from the records
- targets: which table or figure needs which experiments
- demo: the main job in half a minute
"""

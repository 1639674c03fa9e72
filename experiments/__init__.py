"""The paper's tables and figures computed again, what the defaults reach, and what each part is worth."""

"""The paper's tables and figures computed again, how newfound's defaults score, and what each part contributes."""

"""Labels that a person gives after a fit: which rows to label next, and what the labels say."""

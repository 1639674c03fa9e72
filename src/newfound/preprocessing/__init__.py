"""The user's X and the model's x: checks, which columns are kept, how they are scaled, and the way back."""

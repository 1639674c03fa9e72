"""From the user's X to the model's x and back: checks, the choice of columns, and their scaling."""

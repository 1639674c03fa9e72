"""How many new classes there are, and which rows they hold: `discover` is the page to read."""

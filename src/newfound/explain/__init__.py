"""Are there classes that nobody labelled (`audit`), and what a class is in the user's own words (`describe`)."""

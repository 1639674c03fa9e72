"""Whether there are classes without any label (`audit`), and a description of each class (`describe`)."""

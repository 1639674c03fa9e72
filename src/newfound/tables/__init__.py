"""From what a person has to a Dataset: tables, arrays, folders of images. `read` is the way in."""

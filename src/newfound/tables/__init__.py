"""Readers: tables, arrays and folders of images become a Dataset. Begin with `read`."""

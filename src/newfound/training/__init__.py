"""From rows and labels to trained models: `loop` runs the compiled `steps` of each of the `phases`."""

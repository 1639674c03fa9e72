"""The paper's models: `gmdgm` and `ssvae` are its equations, `objective` is what both maximise."""

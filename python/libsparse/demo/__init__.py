"""The demo: a two-layer graph network trained through libsparse, beside torch.sparse, with a report of it all."""

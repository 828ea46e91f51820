"""Models as users write them, each on libsparse, plain torch, torch as an expert uses it, and graph libraries."""

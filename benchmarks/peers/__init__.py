"""The libraries that are compared, one file each; see `peer.py` for what a file has."""

"""torch's own functions and layouts, computed by libsparse."""

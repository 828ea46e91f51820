"""Tuning in the background: calls that repeat are noticed, and schedules that are faster take their place."""

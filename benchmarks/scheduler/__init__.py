"""Every schedule of the expressions by which the scheduler is judged and fitted."""

"""Tools that show and steer the compiler: explain, schedule, doctor."""

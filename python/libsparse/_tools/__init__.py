"""What shows and steers the compiler: explain, schedule, doctor."""

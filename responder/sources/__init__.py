"""Where bytes come from and what a line is.  Nothing here knows rules."""

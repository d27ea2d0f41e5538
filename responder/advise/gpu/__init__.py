"""GPU facts: what the driver, the operator or the log itself says about the GPUs, and what sglang makes of it."""

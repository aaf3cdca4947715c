"""What zipfel asks of the machine: threads, interrupts, memory, files that are replaced whole, logs and progress."""

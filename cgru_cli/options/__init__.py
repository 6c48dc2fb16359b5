"""Every option of every command, stated once."""

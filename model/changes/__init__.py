"""Changes of a pass through its tap: heads switched off, links cut."""

"""What pages share: the sentence, the choosers, the strip, charts with their menus, matrices."""

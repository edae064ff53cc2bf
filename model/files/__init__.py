"""Where weights come from: a folder, the hub, the models that a running app can show."""

"""The commands of the runner, by what they are for. Each registers itself."""

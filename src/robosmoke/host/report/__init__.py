"""The report of one invocation: what was planned, what became of it, in JSON, Markdown and HTML."""

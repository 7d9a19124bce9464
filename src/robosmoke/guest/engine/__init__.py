"""The evaluation engine: a plan's episodes, run by any executor, recorded once each."""

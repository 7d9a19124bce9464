"""What an evaluation is, before and after it runs: request, plan, records, ledger; no simulator, no numpy."""

"""A module that asks a question when it is imported."""

ANSWER = input("Do you want to specify a custom path for the dataset folder? (Y/N): ")

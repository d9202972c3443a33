"""Jobs for the minutes in which a GPU is at hand."""

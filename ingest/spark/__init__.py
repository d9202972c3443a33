"""The same ingest by many machines: stages of numbered tasks over the files of a lake, which Spark hands out."""

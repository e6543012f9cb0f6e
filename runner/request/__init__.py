"""A tool's payload -> Request, pure. modes: what each mode reads; schema: what a model is told."""

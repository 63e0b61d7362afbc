"""Studies as people read them: tables in several formats, and a page with plots."""

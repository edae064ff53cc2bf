"""What a person looks at and has chosen: kept in the session, written to the link."""

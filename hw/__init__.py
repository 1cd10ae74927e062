"""MyHDL blocks: what becomes gates. One block a file."""

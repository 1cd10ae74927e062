"""MyHDL blocks of the engine, leaf to top: what becomes gates."""

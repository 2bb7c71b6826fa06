"""Drop-in replacements for functions of other libraries, under their own names and signatures."""

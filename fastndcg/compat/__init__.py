"""Drop-ins: other libraries' functions under their own names and signatures. Change the import, keep the code."""

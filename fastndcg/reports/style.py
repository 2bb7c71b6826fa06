"""Colours of plots and pages. They are the palette of M. Okabe and K. Ito, made for colour-blind readers."""

INK = "#333333"
FAINT = "#8a8a8a"
PAPER = "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

"""Write the scores of whole rows."""

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.scoring.panels import USER_PANEL
from fastndcg.kernels.scoring.product import fill_tile
from fastndcg.kernels.scoring.tiles import ROW_PANELS, Extent
from fastndcg.kernels.simd import WIDE


@kernel
def score_rows(users, items, extent, tile, out):
    """
    Write the scores of some rows for some items.

    users, items  packed operands: see product.py
    extent        `Extent` as a tuple
    tile          scratch
    out           (n_rows, n_all_items) float32 or float64, of which the columns of these items are written
    """
    extent = Extent(*extent)
    row_width = (extent.n_items + WIDE - 1) // WIDE * WIDE
    n_panels = (extent.n_rows + USER_PANEL - 1) // USER_PANEL
    for first_panel in range(0, n_panels, ROW_PANELS):
        fill_tile(users, first_panel, min(ROW_PANELS, n_panels - first_panel), items, extent, row_width, tile)
        first_row = first_panel * USER_PANEL
        for r in range(min(ROW_PANELS * USER_PANEL, extent.n_rows - first_row)):
            for i in range(extent.n_items):
                out[first_row + r, extent.first_item + i] = tile[r * row_width + i]

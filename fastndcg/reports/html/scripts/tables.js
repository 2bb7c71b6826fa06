  // --- sortable tables --------------------------------------------------------------------------------------------
  function makeSortable(table, sort) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      if (head.dataset.kind === "none") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.kind === "text" ? "ascending" : "descending";
        const second = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? second : first;
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        sort(column, order === "ascending" ? 1 : -1, head.dataset.kind === "text");
      });
    });
  }

  const collator = new Intl.Collator("en", { numeric: true });

  function compare(a, b, direction, isText) {
    if (isText) return direction * collator.compare(a, b);
    const aIsMissing = Number.isNaN(a);
    const bIsMissing = Number.isNaN(b);
    if (aIsMissing || bIsMissing) return aIsMissing - bIsMissing; // missing numbers come last in either direction
    return direction * (a - b);
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    makeSortable(table, (column, direction, isText) => {
      const body = table.tBodies[0];
      const key = (row) => {
        const cell = row.cells[column];
        return isText ? cell.textContent.trim() : parseFloat(cell.dataset.value);
      };
      [...body.rows]
        .map((row) => [key(row), row])
        .sort((a, b) => compare(a[0], b[0], direction, isText))
        .forEach(([, row]) => body.append(row));
    });
  });

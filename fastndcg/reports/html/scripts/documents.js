  // --- documents of a query ----------------------------------------------------------------------------------------
  const DOCUMENT_HEADS = ["document", "label", "rank", "baseline’s rank", "adds", "baseline adds", "points of runs"];

  function makeCell(tag, text, scope = "row") {
    const element = document.createElement(tag);
    element.textContent = text;
    if (tag === "th") element.scope = scope;
    return element;
  }

  function findDocuments(metric, system, query) {
    return data.documents.tables[`${metric},${system},${query}`];
  }

  function makeDocumentTable([nHidden, ...rows], query) {
    const names = data.documents.names[query];
    const box = document.createElement("div");
    const table = document.createElement("table");
    box.className = "documents";
    const heads = DOCUMENT_HEADS.slice(0, rows.length ? rows[0].length : -1);
    table.createTHead().insertRow().append(...heads.map((head) => makeCell("th", head, "col")));
    const body = table.createTBody();
    rows.forEach(([name, ...cells]) => {
      body.insertRow().append(makeCell("th", names[name]), ...cells.map((cell) => makeCell("td", cell)));
    });
    box.append(table);
    if (nHidden) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = `${nHidden.toLocaleString("en")} other documents are not shown.`;
      box.append(note);
    }
    return box;
  }

  // Adds a button to the row of a query that opens and closes a row with its documents.
  function addDocuments(row, table, query) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "toggle";
    button.textContent = "documents";
    button.setAttribute("aria-expanded", "false");
    row.cells[0].append(button);
    button.addEventListener("click", () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) {
        row.nextElementSibling.remove();
        return;
      }
      const below = document.createElement("tr");
      below.className = "documents-row";
      const cell = below.insertCell();
      cell.colSpan = row.cells.length;
      cell.append(makeDocumentTable(table, query));
      row.after(below);
    });
  }

"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // --- theme -------------------------------------------------------------------------------------------------------
  const theme = byId("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

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

  // The headings of columns, for cells that a narrow window shows one below another.
  function labelCells(table) {
    const heads = [...table.tHead.rows[0].cells].map((head) => head.dataset.label ?? head.textContent.trim());
    table.classList.add("labelled");
    [...table.tBodies[0].rows]
      .filter((row) => row.cells.length === heads.length)
      .forEach((row) => [...row.cells].forEach((cell, column) => (cell.dataset.label = heads[column])));
  }

  document.querySelectorAll("table:not(.choices)").forEach(labelCells);

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

  // --- tooltips ----------------------------------------------------------------------------------------------------
  const tooltip = byId("tooltip");

  function moveTooltip(x, y) {
    tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tooltip.offsetWidth - 8))}px`;
    tooltip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - tooltip.offsetHeight - 8))}px`;
  }

  function openTooltip(text, x, y) {
    tooltip.textContent = text;
    tooltip.hidden = false;
    moveTooltip(x, y);
  }

  function openTooltipBeside(element, text) {
    const box = element.getBoundingClientRect();
    openTooltip(text, box.right, box.bottom);
  }

  function closeTooltip() {
    tooltip.hidden = true;
  }

  document.querySelectorAll(".tip").forEach((mark) => {
    const title = mark.querySelector("title");
    const text = title.textContent;
    title.remove(); // otherwise the browser shows a second tooltip
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", text);
    mark.addEventListener("pointerenter", (event) => openTooltip(text, event.clientX, event.clientY));
    mark.addEventListener("pointermove", (event) => moveTooltip(event.clientX, event.clientY));
    mark.addEventListener("focus", () => openTooltipBeside(mark, text));
    ["pointerleave", "blur"].forEach((event) => mark.addEventListener(event, closeTooltip));
  });

  // --- curves: a system is highlighted by its line or by its name in the legend -------------------------------------
  document.querySelectorAll("figure.curves").forEach((figure) => {
    const drawing = figure.querySelector("svg.curves");
    const lines = [...drawing.querySelectorAll(".line")];
    const buttons = [];
    let pinned = null;

    function highlight(system) {
      drawing.classList.toggle("has-active", system !== null);
      lines.forEach((line) => line.classList.toggle("active", line.dataset.system === system));
      drawing.querySelectorAll("[data-band]:not(.line)").forEach((band) => band.classList.toggle("shown", band.dataset.band === system));
      buttons.forEach((button) => button.classList.toggle("active", button.dataset.system === system));
    }

    function pin(system) {
      pinned = pinned === system ? null : system;
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.system === pinned)));
      highlight(pinned);
    }

    figure.querySelectorAll(".legend li").forEach((item) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.system = item.dataset.system;
      button.setAttribute("aria-pressed", "false");
      button.append(...item.childNodes);
      item.append(button);
      buttons.push(button);
      const line = lines.find((other) => other.dataset.system === button.dataset.system);
      button.addEventListener("focus", () => openTooltipBeside(button, line.getAttribute("aria-label")));
      button.addEventListener("blur", closeTooltip);
      button.addEventListener("click", () => pin(button.dataset.system));
    });
    [...lines, ...buttons].forEach((mark) => {
      ["pointerenter", "focus"].forEach((event) => mark.addEventListener(event, () => highlight(mark.dataset.system)));
      ["pointerleave", "blur"].forEach((event) => mark.addEventListener(event, () => highlight(pinned)));
    });
    lines.forEach((line) => line.addEventListener("click", () => pin(line.dataset.system)));
  });

  // --- values: rounded by the writer of the page, so that all digits are those of its tables ------------------------
  const data = JSON.parse(byId("data").textContent);
  const { metrics } = data;

  function readValue(metric, system, query) {
    return metrics[metric].values[system][query] ?? NaN;
  }

  // The difference from the baseline, and its outcome: won 1, tied 0, lost -1.
  function readDifference(metric, system, query) {
    const difference = metrics[metric].differences[system][query] ?? NaN;
    return { difference, outcome: metrics[metric].sign ? metrics[metric].sign * Math.sign(difference) : NaN };
  }

  function formatValue(value) {
    return Number.isNaN(value) ? "undefined" : value.toFixed(4);
  }

  function formatDifference(difference) {
    return Number.isNaN(difference) ? "n/a" : (difference >= 0 ? "+" : "") + difference.toFixed(4);
  }

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
    labelCells(table);
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

  // --- all queries -------------------------------------------------------------------------------------------------
  const PAGE = 25;
  const COLUMNS = ["name", "difference", null, "own", "base"];
  const state = { metric: 0, system: 0, segment: "", which: "most", search: "", column: null, direction: -1, shown: PAGE };

  function readRow(query) {
    return {
      query,
      name: data.queries[query],
      own: readValue(state.metric, state.system, query),
      base: readValue(state.metric, data.baseline, query),
      ...readDifference(state.metric, state.system, query),
    };
  }

  function matchesFilters(row) {
    const search = state.search.toLowerCase();
    const text = data.texts ? data.texts[row.query] : "";
    if (search && !`${row.name} ${text}`.toLowerCase().includes(search)) return false;
    if (state.segment && data.segments[row.query] !== state.segment) return false;
    const outcomes = { won: 1, lost: -1, tied: 0 };
    return !(state.which in outcomes) || row.outcome === outcomes[state.which];
  }

  // The first rows with an outcome, largest differences first: the same as in the lists above.
  function takeExtreme(rows, outcome) {
    return rows
      .filter((row) => row.outcome === outcome)
      .sort((a, b) => outcome * metrics[state.metric].sign * (b.difference - a.difference) || a.query - b.query)
      .slice(0, data.listed);
  }

  function sortRows(rows) {
    const column = COLUMNS[state.column ?? 1];
    const direction = state.column === null ? -(metrics[state.metric].sign || 1) : state.direction;
    return rows.sort((a, b) => compare(a[column], b[column], direction, column === "name") || a.query - b.query);
  }

  function listGroups() {
    const rows = data.queries.map((_, query) => readRow(query)).filter(matchesFilters);
    if (state.which !== "most") return [{ rows: sortRows(rows) }];
    const won = takeExtreme(rows, 1);
    const lost = takeExtreme(rows, -1);
    if (state.column !== null) return [{ rows: sortRows([...won, ...lost]) }];
    return [{ head: "won most", rows: won }, { head: "lost most", rows: lost }];
  }

  function makeBar(difference, largest) {
    const element = document.createElement("td");
    const line = document.createElement("span");
    const fill = document.createElement("i");
    line.className = "delta";
    line.setAttribute("aria-hidden", "true");
    if (difference) {
      const share = (50 * Math.abs(difference)) / largest;
      fill.className = { 1: "won", [-1]: "lost" }[Math.sign(difference) * metrics[state.metric].sign] ?? "tied";
      fill.style.width = `${share}%`;
      fill.style.left = difference > 0 ? "50%" : `${50 - share}%`;
      line.append(fill);
    }
    element.append(line);
    return element;
  }

  function makeRow(entry, largest) {
    const row = document.createElement("tr");
    const { metric } = state;
    row.append(
      makeCell("th", entry.name),
      makeCell("td", formatDifference(entry.difference)),
      makeBar(entry.difference, largest),
      makeCell("td", formatValue(entry.own)),
      makeCell("td", formatValue(entry.base)),
    );
    const text = data.texts && data.texts[entry.query];
    if (text) {
      const span = document.createElement("span");
      span.className = "query-text";
      span.textContent = text;
      row.cells[0].append(" ", span);
    }
    const documents = findDocuments(metric, state.system, entry.query);
    if (documents) addDocuments(row, documents, entry.query);
    return row;
  }

  function makeGroupRow(text) {
    const row = document.createElement("tr");
    const head = makeCell("th", text, "rowgroup");
    row.className = "group";
    head.colSpan = COLUMNS.length;
    row.append(head);
    return row;
  }

  function render() {
    const groups = listGroups();
    const rows = groups.flatMap((group) => group.rows);
    const largest = rows.reduce((maximum, row) => Math.max(maximum, Math.abs(row.difference) || 0), 0) || 1;
    const body = byId("query-table").tBodies[0];
    body.replaceChildren();
    groups.forEach((group) => {
      if (group.head && group.rows.length) body.append(makeGroupRow(group.head));
      body.append(...group.rows.slice(0, state.shown).map((row) => makeRow(row, largest)));
    });
    labelCells(byId("query-table"));
    const system = data.systems[state.system];
    byId("own-head").querySelector("button").textContent = system;
    byId("status").textContent =
      `${system} against ${data.systems[data.baseline]}, ${metrics[state.metric].name}: ${Math.min(rows.length, state.shown)} of ${rows.length} queries shown.`;
    byId("more").hidden = rows.length <= state.shown;
  }

  function clearSort() {
    byId("query-table").querySelectorAll("thead th").forEach((head) => head.removeAttribute("aria-sort"));
    Object.assign(state, { column: null, direction: -1 });
  }

  function fillSelect(select, names, values, selected) {
    names.forEach((name, place) => select.add(new Option(name, values[place], false, values[place] === selected)));
  }

  function startExplorer() {
    const others = data.systems.map((_, place) => place).filter((place) => place !== data.baseline);
    const first = data.systems.indexOf(byId("own-head").textContent.trim());
    state.system = first < 0 ? others[0] : first;
    state.metric = Math.max(0, metrics.findIndex((metric) => metric.sign)); // that of the lists above
    fillSelect(byId("metric"), metrics.map((metric) => metric.name), metrics.map((_, place) => place), state.metric);
    fillSelect(byId("system"), others.map((place) => data.systems[place]), others, state.system);
    if (data.segments) {
      const segments = [...new Set(data.segments)].sort(collator.compare);
      fillSelect(byId("segment"), ["all", ...segments], ["", ...segments], "");
      byId("segment-label").hidden = false;
    }
    makeSortable(byId("query-table"), (column, direction) => {
      Object.assign(state, { column, direction, shown: PAGE });
      render();
    });
    const numeric = ["metric", "system"];
    ["metric", "system", "segment", "which", "search"].forEach((id) => {
      byId(id).addEventListener("input", (event) => {
        state[id] = numeric.includes(id) ? Number(event.target.value) : event.target.value;
        state.shown = PAGE;
        if (id === "which") clearSort();
        render();
      });
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("more").addEventListener("click", () => {
      state.shown += 4 * PAGE;
      render();
    });
    byId("explorer").hidden = false;
    render();
  }

  startExplorer();

  // --- downloads ---------------------------------------------------------------------------------------------------
  const FORMULA = /^\s*[=+\-@＝＋－＠]/; // what spreadsheets take for a formula
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

  function makeCsvCell(text) {
    const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  // One line for each query and metric, with a column for each system.
  function makeValuesCsv() {
    const segment = data.segments ? ["segment"] : [];
    const text = data.texts ? ["text"] : [];
    const lines = [["query", ...text, ...segment, "metric", ...data.systems]];
    data.queries.forEach((name, query) => {
      const own = [name, ...(data.texts ? [data.texts[query]] : []), ...(data.segments ? [data.segments[query]] : [])];
      metrics.forEach((metric, place) => {
        const values = data.systems.map((_, system) => readValue(place, system, query));
        lines.push([...own, metric.name, ...values.map((value) => (Number.isNaN(value) ? "" : value.toFixed(4)))]);
      });
    });
    return lines.map((line) => `${line.map(makeCsvCell).join(",")}\n`).join("");
  }

  const download = byId("download-values");
  download.hidden = false;
  download.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([makeValuesCsv()], { type: "text/csv" }));
    link.download = "values_per_query.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  // --- paper: details are open while the page is printed, in browsers whose styles cannot open them -------------------
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => details.setAttribute("open", ""));
  });
  addEventListener("afterprint", () => opened.forEach((details) => details.removeAttribute("open")));
})();

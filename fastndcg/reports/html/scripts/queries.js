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
      .sort((a, b) => outcome * (b.difference - a.difference) || a.query - b.query)
      .slice(0, data.listed);
  }

  function sortRows(rows) {
    const column = COLUMNS[state.column ?? 1];
    return rows.sort((a, b) => compare(a[column], b[column], state.direction, column === "name") || a.query - b.query);
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
      fill.className = difference > 0 ? "won" : "lost";
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
      makeCell("td", formatDifference(metric, entry.difference)),
      makeBar(entry.difference, largest),
      makeCell("td", formatValue(metric, entry.own)),
      makeCell("td", formatValue(metric, entry.base)),
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
      if (group.head) body.append(makeGroupRow(group.head));
      body.append(...group.rows.slice(0, state.shown).map((row) => makeRow(row, largest)));
    });
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
    fillSelect(byId("metric"), metrics.map((metric) => metric.name), metrics.map((_, place) => place), 0);
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
